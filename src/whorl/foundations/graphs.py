"""Graphs that other tools make of networks: code that branches on shapes becomes one node, or says that it cannot."""

from typing import Any, NoReturn, cast

from torch import nn
from torch.fx import Proxy, Tracer


class OneNode(nn.Module):
    """A module that ``torch.fx`` keeps as one node, and that ``torch.jit.script`` refuses in words."""

    def as_node(self, *values: Any) -> Any:
        """The node of the graph that is being made, if it is; None for tensors."""
        proxy = next((value for value in values if isinstance(value, Proxy)), None)
        if proxy is None:
            return None
        name = cast(Tracer, proxy.tracer).path_of_module(self)
        if not name:
            raise TypeError(
                f"{type(self).__name__}: torch.fx can make no graph of its inside, which depends on shapes. Trace a "
                "network that holds it, where it is one node, or use torch.export."
            )
        return proxy.tracer.create_proxy("call_module", name, values, {})

    def __prepare_scriptable__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: torch.jit.script cannot compile it. Use torch.jit.trace, torch.export or "
            "torch.compile."
        )
