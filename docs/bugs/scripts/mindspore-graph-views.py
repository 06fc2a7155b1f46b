import numpy as np
import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops

print("mindspore", ms.__version__)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([[1.0, 2.0], [3.0, 4.0]]), name="w")

    def construct(self, x):
        row = self.w[0]
        ops.assign(self.w, x)
        return row * 1


x = Tensor(np.array([[10.0, 20.0], [30.0, 40.0]], np.float32))
seen = []
for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode)
    seen.append(Net()(x).asnumpy())
print("PyNative:", seen[0], "Graph:", seen[1])
np.testing.assert_array_equal(seen[0], seen[1])
print("no difference")
