"""Messages that make a waiting worker look at once; a lost one costs until the next sweep."""

from __future__ import annotations

import logging

from celery import current_app
from kombu.exceptions import OperationalError

from campaigns.models import Campaign, Shard

__all__ = ["ask_probe", "hint_campaign"]

logger = logging.getLogger(__name__)
# Nobody took it for so long: the sweep has said it again meanwhile.
_SECONDS = 60.0


def hint_campaign(campaign: Campaign) -> int:
    """Say that its queued shards can be claimed; how many messages were sent.

    Call it after the commit. Of a campaign with a limit of workers only so many are hinted at.
    """
    queued = campaign.shards.filter(status=Shard.Status.QUEUED).order_by("next_round", "pk")
    limit = campaign.workers or queued.count()
    return sum(
        _send("flowmut.run_shard", pk, epoch)
        for pk, epoch in queued.values_list("pk", "epoch")[:limit]
    )


def ask_probe() -> bool:
    """Ask a worker to ask every interpreter for its versions; whether the message was taken."""
    return _send("flowmut.probe_environments")


def _send(task: str, *arguments: int) -> bool:
    try:
        current_app.send_task(task, arguments, expires=_SECONDS)
    except OperationalError:
        logger.warning("The broker did not take %s.", task, exc_info=True)
        return False
    return True
