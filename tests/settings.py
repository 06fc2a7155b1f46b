"""Settings for tests: the ordinary ones, with a storage folder and a secret of their own.

The database is a file in that folder unless TEST_DATABASE_URL names a server. Loaded by
pytest-django before anything else. `tests/conftest.py` removes the folder.
"""

import os
import tempfile

os.environ["FLOWMUT_VAR_DIR"] = tempfile.mkdtemp(prefix="flowmut-tests-")
os.environ["FLOWMUT_SECRET_KEY"] = "only for tests"
os.environ["FLOWMUT_DEBUG"] = "false"
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL", "")
os.environ["CELERY_BROKER_URL"] = os.environ.get("TEST_BROKER_URL", "")
# No test asks a real tracker: nobody answers at this port.
os.environ["FLOWMUT_GITHUB_API"] = "http://127.0.0.1:9"
os.environ["FLOWMUT_GITHUB_TOKEN"] = ""
os.environ["FLOWMUT_GITEE_API"] = "http://127.0.0.1:9"
os.environ["FLOWMUT_GITEE_TOKEN"] = ""
os.environ["FLOWMUT_ATOMGIT_API"] = "http://127.0.0.1:9"
os.environ["FLOWMUT_ATOMGIT_TOKEN"] = ""

from flowmut_web.settings import *  # noqa: F403 (the environment comes first)
from flowmut_web.settings import DATABASES, STORAGES, VAR_DIR

# Fast on purpose: these passwords protect nothing.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Pages under test are not collected first.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
if not os.environ["DATABASE_URL"]:
    # A file, as in the product: threads and processes of a test lock each other as they do there.
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}
