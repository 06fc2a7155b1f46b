"""URLs of triage, grouped by object."""

from django.urls import include, path

from triage import (
    bucket_views,
    diff_views,
    filing_views,
    grouping_views,
    life_views,
    report_views,
    rerun_views,
    submission_views,
    suppression_views,
    template_views,
    version_views,
    views,
)

__all__ = ["app_name", "urlpatterns"]

app_name = "triage"

bucket_urls = [
    path("", bucket_views.show_bucket, name="show-bucket"),
    path("move/", bucket_views.move_bucket, name="move-bucket"),
    path("assign/", bucket_views.assign_bucket, name="assign-bucket"),
    path("labels/", bucket_views.add_label, name="add-label"),
    path("labels/<int:pk>/remove/", bucket_views.remove_label, name="remove-label"),
    path("flag/clear/", bucket_views.clear_flag, name="clear-flag"),
    path("notes/", bucket_views.add_note, name="add-note"),
    path("notes/<int:pk>/edit/", bucket_views.edit_note, name="edit-note"),
    path("notes/<int:pk>/delete/", bucket_views.delete_note, name="delete-note"),
    path("split/", grouping_views.preview_split, name="preview-split"),
    path("split/apply/", grouping_views.split_bucket, name="split-bucket"),
    path("rule/", grouping_views.preview_rule, name="preview-rule"),
    path("rule/apply/", grouping_views.set_rule, name="set-rule"),
    path("limit/", suppression_views.preview_limit, name="preview-limit"),
    path("limit/apply/", suppression_views.accept_limit, name="accept-limit"),
    path("versions/", version_views.show_versions, name="show-versions"),
    path("versions/run/", version_views.retest_bucket, name="retest-bucket"),
    path("versions/search/", version_views.add_bisection, name="add-bisection"),
]

finding_urls = [
    path("", bucket_views.show_finding, name="show-finding"),
    path("script/", bucket_views.download_script, name="download-script"),
    path("data/", bucket_views.download_data, name="download-data"),
    path("graph/", diff_views.show_diff, name="show-diff"),
    path("graph.svg", diff_views.download_picture, name="download-picture"),
    path("report/", report_views.add_report, name="add-report"),
    path("output/", bucket_views.download_output, name="download-output"),
    path("answers/<str:mode>/", bucket_views.download_answer, name="download-answer"),
    path("rerun/", rerun_views.add_rerun, name="add-rerun"),
    path("reruns/", rerun_views.show_reruns, name="show-reruns"),
]

rerun_urls = [
    path("cancel/", rerun_views.cancel_rerun, name="cancel-rerun"),
    path("output/", rerun_views.download_rerun, name="download-rerun"),
]

report_urls = [
    path("", report_views.show_report, name="show-report"),
    path("edit/", report_views.edit_report, name="edit-report"),
    path("follow-up/", version_views.download_follow_up, name="download-follow-up"),
    path("preview/", report_views.preview_report, name="preview-report"),
    path("link/", report_views.link_report, name="link-report"),
    path("lint/", filing_views.show_lint, name="show-lint"),
    path("lint/override/", filing_views.override_rule, name="override-rule"),
    path("lint/withdraw/", filing_views.withdraw_override, name="withdraw-override"),
    path("run/", filing_views.run_script, name="run-report-script"),
    path("search/", filing_views.search_tracker, name="search-tracker"),
    path("join/", filing_views.join_issue, name="join-issue"),
    path("post/", filing_views.confirm_filing, name="confirm-filing"),
    path("post/now/", filing_views.file_report, name="file-report"),
    path("post/look/", filing_views.look_for_filing, name="look-for-filing"),
    path("post/abandon/", filing_views.abandon_filing, name="abandon-filing"),
    path("move/", report_views.move_report, name="move-report"),
    path("upstream/", life_views.show_upstream, name="show-upstream"),
    path("upstream/ask/", life_views.ask_upstream, name="ask-upstream"),
    path("upstream/adopt/", life_views.adopt_address, name="adopt-address"),
    path("upstream/answers.json", life_views.download_answers, name="download-answers"),
    path("proposal/take-over/", life_views.take_over, name="take-over-report"),
    path("proposal/keep/", life_views.keep_status, name="keep-report-status"),
]

merge_urls = [
    path("", grouping_views.preview_merge, name="preview-merge"),
    path("pick/", grouping_views.pick_merge, name="pick-merge"),
    path("apply/", grouping_views.merge_buckets, name="merge-buckets"),
]

submission_urls = [
    path("", submission_views.show_submission, name="show-submission"),
    path("script/", submission_views.download_submission, name="download-submission"),
    path("cancel/", submission_views.cancel_submission, name="cancel-submission"),
]

suppression_urls = [
    path("expiry/", suppression_views.move_expiry, name="move-expiry"),
    path("lift/", suppression_views.lift_suppression, name="lift-suppression"),
]

template_urls = [
    path("", template_views.show_template, name="show-template"),
    path("save/", template_views.save_template, name="save-template"),
    path("preview/", template_views.preview_template, name="preview-template"),
    path("shipped/", template_views.restore_shipped, name="restore-shipped"),
    path("<int:number>/", template_views.show_version, name="show-template-version"),
    path("<int:number>/restore/", template_views.restore_template, name="restore-template"),
]

urlpatterns = [
    path("", views.list_buckets, name="list-buckets"),
    path("export.csv", views.export_csv, name="export-buckets-csv"),
    path("export.json", views.export_json, name="export-buckets-json"),
    path("change/", views.change_buckets, name="change-buckets"),
    path("undo/<uuid:batch>/", views.undo_batch, name="undo-batch"),
    path("views/", views.list_views, name="list-views"),
    path("views/save/", views.save_view, name="save-view"),
    path("views/default/", views.choose_view, name="choose-view"),
    path("views/<int:pk>/", views.edit_view, name="edit-view"),
    path("views/<int:pk>/delete/", views.delete_view, name="delete-view"),
    path("merge/", include(merge_urls)),
    path("submissions/", submission_views.list_submissions, name="list-submissions"),
    path("submissions/add/", submission_views.add_submission, name="add-submission"),
    path("submissions/<uuid:uuid>/", include(submission_urls)),
    path("suppressions/", suppression_views.list_suppressions, name="list-suppressions"),
    path("suppressions/<uuid:uuid>/", include(suppression_urls)),
    path("buckets/<uuid:uuid>/", include(bucket_urls)),
    path("findings/<uuid:uuid>/", include(finding_urls)),
    path("reruns/<uuid:uuid>/", include(rerun_urls)),
    path("searches/<uuid:uuid>/cancel/", version_views.cancel_bisection, name="cancel-bisection"),
    path("versions/", version_views.list_versions, name="list-versions"),
    path("versions/run/", version_views.retest_many, name="retest-versions"),
    path("seeds/<str:name>/", diff_views.show_seed, name="show-seed"),
    path(
        "seeds/<str:name>/graph.svg", diff_views.download_seed_picture, name="download-seed-picture"
    ),
    path("reports/", life_views.list_reports, name="list-reports"),
    path("reports/board/", life_views.show_board, name="show-report-board"),
    path("reports/board/move/<uuid:uuid>/", life_views.move_card, name="move-report-card"),
    path("reports/mapping/", life_views.show_mapping, name="show-report-mapping"),
    path("reports/export.<str:ending>", life_views.export_reports, name="export-reports"),
    path("scoreboard.<str:ending>", life_views.export_scoreboard, name="export-scoreboard"),
    path("reports/templates/", template_views.list_templates, name="list-templates"),
    path("reports/templates/<slug:key>/", include(template_urls)),
    path("reports/<uuid:uuid>/", include(report_urls)),
]
