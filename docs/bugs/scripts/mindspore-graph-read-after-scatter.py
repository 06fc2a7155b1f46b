import numpy as np
import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops

print("mindspore", ms.__version__)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")

    def construct(self, x):
        row = Tensor([0], ms.int32)
        updated = ops.scatter_update(self.w, row, x)
        before = updated * 1
        ops.scatter_add(self.w, row, x)
        return before, self.w * 1


x = Tensor(np.array([10.0], np.float32))
for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode)
    before, after = Net()(x)
    print("mode", mode, "before the second write:", before.asnumpy(), "after:", after.asnumpy())
    np.testing.assert_array_equal(after.asnumpy(), [20.0, 2.0])
    np.testing.assert_array_equal(before.asnumpy(), [10.0, 2.0])
print("no difference")
