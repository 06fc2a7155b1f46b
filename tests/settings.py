"""Settings for tests: the ordinary ones, with a storage folder and a secret of their own.

The database is in memory unless TEST_DATABASE_URL names a server. Loaded by pytest-django and by
mypy's Django plugin before anything else, so that the defaults below are seen.
"""

import atexit
import os
import shutil
import tempfile

_storage = tempfile.mkdtemp(prefix="flowmut-tests-")
atexit.register(shutil.rmtree, _storage, ignore_errors=True)

os.environ["FLOWMUT_VAR_DIR"] = _storage
os.environ["FLOWMUT_SECRET_KEY"] = "only for tests"
os.environ["FLOWMUT_DEBUG"] = "false"
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL", "")
os.environ["CELERY_BROKER_URL"] = os.environ.get("TEST_BROKER_URL", "")

from flowmut_web.settings import *  # noqa: E402, F403 (the environment comes first)
from flowmut_web.settings import STORAGES  # noqa: E402

# Fast on purpose: these passwords protect nothing.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Pages under test are not collected first.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
