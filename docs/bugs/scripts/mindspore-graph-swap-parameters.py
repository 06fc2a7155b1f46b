import numpy as np
import mindspore as ms
from mindspore import Parameter, Tensor, nn

print("mindspore", ms.__version__)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")
        self.v = Parameter(Tensor([3.0, 4.0]), name="v")

    def construct(self):
        self.w, self.v = self.v, self.w
        return self.w * 1, self.v * 1


for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode)
    w, v = Net()()
    print("mode", mode, "w:", w.asnumpy(), "v:", v.asnumpy())
    np.testing.assert_array_equal(w.asnumpy(), [3.0, 4.0])
    np.testing.assert_array_equal(v.asnumpy(), [1.0, 2.0])
print("no difference")
