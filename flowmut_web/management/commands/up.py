"""Starts the product on this machine: web, worker, and a first campaign. What `make run` runs."""

from __future__ import annotations

import fcntl
import secrets
import shutil
import signal
import socket
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.client import HTTPConnection, HTTPException
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseProblem
from django.db import connection
from django.utils import timezone

from campaigns.choices import PRESETS, preset_seeds
from campaigns.environments import ensure_environments, probe_environment
from campaigns.models import Campaign, Environment
from campaigns.selectors import campaign_progress
from campaigns.services import create_campaign
from flowmut_web.supervisor import (
    Service,
    make_services,
    stop_all,
    web_command,
    worker_commands,
)
from flowmut_web.tasks import probe_environments

__all__ = ["Command"]

_HEALTH_SECONDS = 90.0
_LIVE_SECONDS = 3.0
_LINE_SECONDS = 30.0
ADMINISTRATOR = "admin"


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--random-seed", type=int, help="of the first campaign (default: drawn)"
        )
        parser.add_argument(
            "--no-campaign", action="store_true", help="do not start a first campaign"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stop = threading.Event()
        self._shown = ""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        with self._alone():
            host, port = self._address()
            password = self._prepare()
            if not options["no_campaign"]:
                self._first_campaign(options["random_seed"])
            workers = worker_commands(settings.WORKER_PROCESSES, broker=settings.CELERY_BROKER_URL)
            services = make_services({"web": web_command(f"{host}:{port}"), **workers})
            try:
                for service in services:
                    service.start()
                if self._answers(host, port, services[0]):
                    self._welcome(host, port, password)
                    self._watch(services)
            finally:
                self._end(services)

    def _on_signal(self, number: int, frame: object) -> None:
        self.stop.set()

    def say(self, text: str) -> None:
        """A step, on a line of its own."""
        clear = "\r\033[K" if self._shown else ""
        self._shown = ""
        self._write(f"{clear}==> {text}\n")

    def _write(self, text: str) -> None:
        """Print; a terminal that was closed must not keep us from stopping in good order."""
        with suppress(OSError):
            self.stdout.write(text, ending="")
            self.stdout.flush()

    # ------------------------------------------------------------------------------- before
    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two of us on one storage folder would fight over its port and its worker."""
        with (settings.VAR_DIR / "up.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CommandError(f"It is running already, on {settings.VAR_DIR}.") from None
            yield

    def _address(self) -> tuple[str, int]:
        """Where the site will be, if nobody else is there."""
        host, _, port = settings.BIND.rpartition(":")
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(address)
        except (OSError, ValueError) as error:
            raise CommandError(
                f"FLOWMUT_BIND: saw {settings.BIND!r}, expected a free address such as"
                f" 127.0.0.1:8001 ({error})"
            ) from None
        return host, int(port)

    def _prepare(self) -> str:
        """Database, static files, administrator, environments; the new password or ""."""
        call_command("migrate", verbosity=0, interactive=False)
        self.say(f"Database ready ({connection.vendor})")
        call_command("collectstatic", verbosity=0, interactive=False)
        password = self._administrator()
        if not Environment.objects.filter(last_probe__isnull=False).exists():
            self.say("Asking each framework for its version (up to a minute the first time)")
            for environment in ensure_environments(settings.WORKER_INTERPRETERS):
                self._show_environment(probe_environment(environment))
        else:
            self._known_environments()
        return password

    def _known_environments(self) -> None:
        """Show what was last said; what is older than a day is asked again, by a worker."""
        for environment in Environment.objects.all():
            self._show_environment(environment)
        yesterday = timezone.now() - timedelta(days=1)
        if Environment.objects.filter(last_probe__lt=yesterday).exists():
            probe_environments.delay()

    def _administrator(self) -> str:
        """Create one where there is none."""
        people = get_user_model().objects
        if people.filter(is_superuser=True).exists():
            return ""
        password = secrets.token_urlsafe(12)
        people.create_superuser(ADMINISTRATOR, password=password)
        return password

    def _show_environment(self, environment: Environment) -> None:
        if environment.healthy:
            versions = ", ".join(f"{name} {one}" for name, one in environment.versions.items())
            self._write(f"    {environment.name}: {versions}\n")
        else:
            self._write(f"    {environment.name}: cannot be used: {environment.problem}\n")

    def _first_campaign(self, random_seed: int | None) -> None:
        """The quick look over all compact seeds, if nothing was ever run here."""
        if Campaign.objects.exists():
            return
        preset = PRESETS[Campaign.Preset.QUICK_LOOK]
        chosen = random_seed if random_seed is not None else secrets.randbelow(10**6)
        campaign = create_campaign(
            name="First quick look",
            preset=preset.key,
            seeds=preset_seeds(preset),
            modes=preset.modes,
            policy=preset.policy,
            random_seed=chosen,
            rounds=preset.rounds,
        )
        shards = campaign.shards.count()
        self.say(
            f"First campaign: {shards} models, {preset.rounds} rounds each, random seed {chosen}"
        )

    # ------------------------------------------------------------------------------- running
    def _answers(self, host: str, port: int, web: Service) -> bool:
        """Wait until the site answers; False where we are to stop or it cannot start."""
        reach = host.strip("[]") if host not in ("", "0.0.0.0", "[::]") else "127.0.0.1"
        until = time.monotonic() + _HEALTH_SECONDS
        while not self.stop.wait(0.2):
            if web.process is not None and web.process.poll() is not None:
                raise CommandError(f"The web process ended at once; its log is {web.log}")
            if _health(reach, port):
                return True
            if time.monotonic() > until:
                raise CommandError(f"No answer from the web process; its log is {web.log}")
        return False

    def _welcome(self, host: str, port: int, password: str) -> None:
        self.say(f"Ready: http://{host or '127.0.0.1'}:{port}/")
        if password:
            self._write(
                f"    Log in as {ADMINISTRATOR} with the password {password}\n"
                "    It is shown only this once; `manage.py changepassword admin` sets another.\n"
            )
        self._write(
            f"    {settings.WORKER_PROCESSES} worker processes; logs in"
            f" {settings.VAR_DIR / 'logs'}; Ctrl-C stops everything\n"
        )

    def _watch(self, services: list[Service]) -> None:
        """Tend the processes and show how far things are, until told to stop."""
        is_live = self.stdout.isatty()
        shown_at, last = time.monotonic(), ""
        while not self.stop.wait(1.0):
            for service in services:
                news = service.tend()
                if news:
                    self.say(news)
            now = time.monotonic()
            if now - shown_at < (_LIVE_SECONDS if is_live else _LINE_SECONDS):
                continue
            shown_at, line = now, _progress()
            if is_live:
                shown = f"    {line}"[: shutil.get_terminal_size().columns - 1]
                self._write(f"\r\033[K{shown}")
                self._shown = line
            elif line != last:
                self.say(line)
            last = line

    def _end(self, services: list[Service]) -> None:
        self.say("Stopping; what is recorded stays")
        killed = stop_all(services)
        for name in killed:
            self.say(f"{name} did not stop in time and was killed")
        self.say("Stopped; `make run` goes on from here")


def _health(host: str, port: int) -> bool:
    link = HTTPConnection(host, port, timeout=5)
    try:
        link.request("GET", "/health/", headers={"Host": "localhost"})
        return link.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        link.close()


def _progress() -> str:
    """One line about the newest live campaign."""
    try:
        live = Campaign.objects.filter(
            status__in=[Campaign.Status.PENDING, Campaign.Status.RUNNING]
        )
        campaign, others = live.first(), live.count() - 1
        if campaign is None:
            return "no campaign is running"
        seen = campaign_progress(campaign)
    except DatabaseProblem as error:
        connection.close()
        return f"the database does not answer: {error}"
    working = sum(one.shard is not None and one.is_alive(seen.now) for one in seen.workers)
    found = f"{seen.found} finding{'' if seen.found == 1 else 's'}"
    line = (
        f"{campaign.name}: round {seen.done} of {seen.planned}, {found},"
        f" {seen.per_minute:.0f} rounds a minute, {working} at work"
    )
    return f"{line}; {others} more campaigns" if others else line
