from django.db import migrations

from triage.counting import family_of
from triage.models import text_digest


def fill_columns(apps, schema_editor):
    """What older findings hold in `data`, in columns; what the members of each bucket share."""
    FindingRecord = apps.get_model("triage", "FindingRecord")
    shared = {}
    for record in FindingRecord.objects.select_related("bucket").iterator(chunk_size=100):
        record.parts = record.data.get("parts", {})
        record.signature_digest = text_digest(record.data.get("signature", ""))
        record.impact = record.bucket.impact
        record.save(update_fields=["parts", "signature_digest", "impact"])
        known, _ = shared.get(record.bucket_id, (record.parts, ""))
        same = {name: value for name, value in known.items() if record.parts.get(name) == value}
        shared[record.bucket_id] = (same, record.bucket.op)
    Bucket = apps.get_model("triage", "Bucket")
    for pk, (parts, op) in shared.items():
        Bucket._default_manager.filter(pk=pk).update(parts=parts, family=family_of(parts, op))


class Migration(migrations.Migration):
    dependencies = [
        ("triage", "0004_grouping"),
    ]

    operations = [
        migrations.RunPython(fill_columns, migrations.RunPython.noop),
    ]
