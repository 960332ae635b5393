"""Models and trained networks as files that other programs run: ONNX and ``torch.export``.

Both formats hold the same chain of explicit steps, made of small convolutions, in a loop: a file of a few kilobytes,
whatever the number of steps. Batch, height and width are free; the number of steps is fixed when the file is written.
"""

from whorl.export.chain import FORMATS, Chain, model_chain, network_chain
from whorl.export.onnx_file import onnx_model
from whorl.export.pt2 import exported_program
from whorl.export.write import write

__all__ = ["FORMATS", "Chain", "exported_program", "model_chain", "network_chain", "onnx_model", "write"]
