"""Settings. Everything that differs between installations comes from the environment.

docs/settings.md describes each variable; a test keeps it complete.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
import django_stubs_ext
from django.core.exceptions import ImproperlyConfigured

from flowmut_web import machine
from flowmut_web.environment import Environment
from flowmut_web.storage import kept_secret, make_folder

# Django's generic classes take their model in brackets, `ModelAdmin[Campaign]`, at run time too.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment()

# Storage ------------------------------------------------------------------------------------------

VAR_DIR = make_folder(env.path("FLOWMUT_VAR_DIR", BASE_DIR / "var"))
ARTEFACT_DIR = make_folder(env.path("FLOWMUT_ARTEFACT_DIR", VAR_DIR / "artefacts"))
SCRATCH_DIR = make_folder(env.path("FLOWMUT_SCRATCH_DIR", VAR_DIR / "scratch"))
# Drawings of graphs; they may be deleted at any time.
PICTURE_DIR = make_folder(VAR_DIR / "pictures")
# Files of imported seeds, written again from the database where they are missing.
SEED_DIR = make_folder(VAR_DIR / "seeds")

# The site -----------------------------------------------------------------------------------------

DEBUG = env.boolean("FLOWMUT_DEBUG", default=False)
SECRET_KEY = env.text("FLOWMUT_SECRET_KEY", "") or kept_secret(VAR_DIR / "secret_key")
ALLOWED_HOSTS = env.items("FLOWMUT_ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = env.items("FLOWMUT_TRUSTED_ORIGINS", ())

# Where `up` puts the site.
BIND = env.text("FLOWMUT_BIND", "127.0.0.1:8000")

# Behind a proxy that speaks HTTPS and sets X-Forwarded-Proto.
HTTPS = env.boolean("FLOWMUT_HTTPS", default=False)
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
X_FRAME_OPTIONS = "DENY"

ROOT_URLCONF = "flowmut_web.urls"
WSGI_APPLICATION = "flowmut_web.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "whitenoise.runserver_nostatic",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_filters",
    "django_htmx",
    "drf_spectacular",
    "rest_framework",
    "rest_framework.authtoken",
    "flowmut_web",
    "campaigns",
    "triage",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "flowmut_web.middleware.content_security_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "flowmut_web.middleware.csp_nonce",
            ],
        },
    },
]

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LANGUAGE_CODE = "en-gb"
USE_TZ = True
TIME_ZONE = env.text("FLOWMUT_TIME_ZONE", "UTC")

STATIC_URL = "static/"
STATIC_ROOT = make_folder(VAR_DIR / "static")
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": ARTEFACT_DIR},
    },
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# Database -----------------------------------------------------------------------------------------

_POSTGRESQL = "django.db.backends.postgresql"
_SQLITE = "django.db.backends.sqlite3"

DATABASE_URL = env.text("DATABASE_URL", f"sqlite:///{VAR_DIR / 'flowmut.sqlite3'}")
# A power cut loses at most the last commits of an embedded database, unless this syncs each.
SQLITE_FULL_SYNC = env.boolean("FLOWMUT_SQLITE_FULL_SYNC", default=False)


def _database(url: str) -> dj_database_url.DBConfig:
    """The configuration for a PostgreSQL or SQLite address.

    The address is never shown: it may hold a password.
    """
    try:
        found = dj_database_url.parse(url)
    except (ValueError, dj_database_url.ParseError, dj_database_url.UnknownSchemeError):
        found = {}
    if found.get("ENGINE") == _POSTGRESQL:
        return {**found, "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    if found.get("ENGINE") != _SQLITE:
        scheme = urlsplit(url).scheme
        raise ImproperlyConfigured(
            f"DATABASE_URL: saw scheme {scheme!r}, expected postgresql://... or sqlite:///..."
        )
    synchronous = "FULL" if SQLITE_FULL_SYNC else "NORMAL"
    return {
        **found,
        "OPTIONS": {
            # A writer takes its lock when it begins, so that none fails half-way.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": f"PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous};",
        },
    }


DATABASES = {"default": _database(DATABASE_URL)}

# Jobs ---------------------------------------------------------------------------------------------
# The database is the queue; a message is only a hint, so that losing or repeating one does no harm.

CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", "filesystem://localhost")
_BROKERS = ("filesystem", "redis", "rediss", "amqp", "amqps")
_broker = urlsplit(CELERY_BROKER_URL).scheme
if _broker not in _BROKERS:
    raise ImproperlyConfigured(
        f"CELERY_BROKER_URL: saw scheme {_broker!r}, expected one of {', '.join(_BROKERS)}"
    )
if _broker == "filesystem":
    BROKER_DIR = make_folder(VAR_DIR / "broker")
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(make_folder(BROKER_DIR / "messages")),
        "data_folder_out": str(make_folder(BROKER_DIR / "messages")),
        "control_folder": str(make_folder(BROKER_DIR / "control")),
        "store_processed": False,
    }
# Replies to remote control would pile up as files that nobody reads.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = _broker != "filesystem"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_DEFAULT_QUEUE = "flowmut"
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_TIMEZONE = TIME_ZONE

# Children of the worker that `up` starts; each runs one shard, with framework workers of its own.
WORKER_PROCESSES = env.integer("FLOWMUT_WORKER_PROCESSES", machine.worker_processes(), least=1)

# Who tells pages of campaigns what was found; campaigns know nothing of triage.
FINDINGS_READER = "flowmut_web.findings.FindingsOfCampaigns"

# Environments under test --------------------------------------------------------------------------
# Interpreters of the environments that a new installation starts with; the site adds more.

WORKER_INTERPRETERS = {
    "torch": env.text("FLOWMUT_TORCH_PYTHON", sys.executable),
    "mindspore": env.text("FLOWMUT_MINDSPORE_PYTHON", sys.executable),
}

# Environments that `flowmut env add --spec` makes, and where pip looks for them ("" for pip's own).
ENVIRONMENT_DIR = env.path("FLOWMUT_ENVIRONMENT_DIR", VAR_DIR / "environments")
PIP_INDEX = env.text("FLOWMUT_PIP_INDEX", "")
WHEEL_DIR = env.text("FLOWMUT_WHEEL_DIR", "")

# Whether administrators may upload scripts in the browser; each runs code of whoever wrote it.
SCRIPT_UPLOAD = env.boolean("FLOWMUT_SCRIPT_UPLOAD", default=False)

# The greatest model or graph that an administrator may upload as a seed.
SEED_UPLOAD_MB = env.integer("FLOWMUT_SEED_UPLOAD_MB", 64, least=1)

# Trackers -----------------------------------------------------------------------------------------
# Where reports are filed and followed. Without a token only what is public is read; with one an
# administrator may post. Nothing is sent anywhere before a person linked or filed a report there.

TRACKERS = {
    "github": {
        "api": env.text("FLOWMUT_GITHUB_API", "https://api.github.com"),
        "web": env.text("FLOWMUT_GITHUB_WEB", "https://github.com"),
        "token": env.text("FLOWMUT_GITHUB_TOKEN", ""),
    },
    "gitee": {
        "api": env.text("FLOWMUT_GITEE_API", "https://gitee.com/api/v5"),
        "web": env.text("FLOWMUT_GITEE_WEB", "https://gitee.com"),
        "token": env.text("FLOWMUT_GITEE_TOKEN", ""),
    },
    "atomgit": {
        "api": env.text("FLOWMUT_ATOMGIT_API", "https://api.atomgit.com/api/v5"),
        "web": env.text("FLOWMUT_ATOMGIT_WEB", "https://atomgit.com"),
        "token": env.text("FLOWMUT_ATOMGIT_TOKEN", ""),
    },
}
# Signs what GitHub sends to the webhook; without it the webhook answers nobody.
GITHUB_WEBHOOK_SECRET = env.text("FLOWMUT_GITHUB_WEBHOOK_SECRET", "")
# How often an open report is asked after; 0: only when a person or a webhook wants it.
FOLLOW_MINUTES = env.integer("FLOWMUT_FOLLOW_MINUTES", 60, least=0)

# Reports ------------------------------------------------------------------------------------------
# How many may be filed on a tracker within a day before the linter objects.

REPORTS_A_DAY = {
    "pytorch": env.integer("FLOWMUT_PYTORCH_REPORTS_A_DAY", 2, least=0),
    "mindspore": env.integer("FLOWMUT_MINDSPORE_REPORTS_A_DAY", 4, least=0),
}

# API ----------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "rest_framework.authentication.TokenAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "PAGE_SIZE": 50,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "FlowMuT Triage",
    "DESCRIPTION": "Campaigns, findings and reports: what the pages show and do.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "ENUM_NAME_OVERRIDES": {
        "CampaignStatus": "campaigns.models.Campaign.Status",
        "ShardStatus": "campaigns.models.Shard.Status",
        "BucketStatus": "triage.models.Bucket.Status",
        "FalseAlarm": "triage.models.Bucket.FalseAlarm",
        "ReportStatus": "triage.models.Report.Status",
        "FilingState": "triage.models.Filing.State",
        "RerunState": "triage.models.Rerun.State",
    },
}

# Logging ------------------------------------------------------------------------------------------

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {
        "handlers": ["console"],
        "level": env.choice("FLOWMUT_LOG_LEVEL", "INFO", choices=_LEVELS),
    },
}
