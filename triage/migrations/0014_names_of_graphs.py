from django.db import migrations, models


class Migration(migrations.Migration):
    """Signatures of version 3: names of MindSpore's graphs are left out."""

    dependencies = [
        ("triage", "0013_adopted_findings"),
    ]

    operations = [
        migrations.AlterField(
            model_name="bucket",
            name="signature_version",
            field=models.PositiveSmallIntegerField(default=3),
        ),
    ]
