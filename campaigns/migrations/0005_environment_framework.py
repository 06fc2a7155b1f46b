"""Environments name their framework, which was the first word of their name before."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def fill(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    environments = apps.get_model("campaigns", "Environment")
    for environment in environments.objects.all():
        first = environment.name.split()[0]
        environment.framework = first if first in ("torch", "mindspore") else "torch"
        environment.save(update_fields=["framework"])


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0004_findings_of_a_round")]

    operations = [
        migrations.AddField(
            model_name="environment",
            name="framework",
            field=models.CharField(
                choices=[("torch", "PyTorch"), ("mindspore", "MindSpore")],
                default="torch",
                max_length=20,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="environment",
            name="spec",
            field=models.CharField(blank=True, default="", editable=False, max_length=200),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="environment",
            name="folder",
            field=models.CharField(blank=True, default="", editable=False, max_length=500),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
