"""Which models beyond the bundled ones visitors may open.

A model of one's own is a folder on the server's disk or a download into it. That is for the person at the machine, so
both are on only while the server listens on a loopback address (`server.address`, "127.0.0.1" as shipped); whoever
starts a server for others can allow either:

    streamlit run viz_app/main.py --server.address 0.0.0.0 -- --allow-hub --allow-local-models

Behind a reverse proxy or an SSH tunnel the server still listens on a loopback address, so both are on for everyone whom
the proxy lets through.
"""

import ipaddress
import logging
import sys
from dataclasses import dataclass

import streamlit as st

from viz_app.errors import literal

log = logging.getLogger(__name__)

ALLOW_LOCAL_MODELS = "--allow-local-models"
ALLOW_HUB = "--allow-hub"

HOW_TO_ALLOW = (
    "Opening other models is off on this server, because others can reach it. Whoever runs it can allow hub names with "
    f"`-- {ALLOW_HUB}` at the end of the command that starts it, and folders on its disk with `{ALLOW_LOCAL_MODELS}`."
)


@dataclass(frozen=True)
class Permissions:
    """What may be opened beside the bundled models."""

    local_models: bool
    """Folders on the machine that runs Headlight."""
    hub: bool
    """Models of the Hugging Face hub."""

    @property
    def own_models(self) -> bool:
        """Whether anything may."""
        return self.local_models or self.hub


def permissions() -> Permissions:
    """What this server allows, by its address and by the arguments that it was started with."""
    private = is_loopback(st.get_option("server.address"))
    arguments = sys.argv[1:]
    return Permissions(private or ALLOW_LOCAL_MODELS in arguments, private or ALLOW_HUB in arguments)


def is_loopback(address: str | None) -> bool:
    """Whether a server with this address answers its own machine only. Without an address it answers everyone."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address or "").is_loopback
    except ValueError:
        return False


def refuse_unknown_arguments() -> None:
    """End the page with a message if Headlight was started with arguments that mean nothing to it.

    The message names them on the terminal, and on the page where only this machine sees it.
    """
    known = ALLOW_LOCAL_MODELS, ALLOW_HUB
    unknown = [argument for argument in sys.argv[1:] if argument not in known]
    if not unknown:
        return
    understood = f'Behind "--" it takes {" and ".join(known)}.'
    log.error("Headlight does not know %s. %s", " ".join(unknown), understood)
    shown = literal(" ".join(unknown)) if is_loopback(st.get_option("server.address")) else "an argument"
    st.error(f"Headlight was started with {shown}, which it does not know. {understood}")
    st.stop()
