/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, one row a rule, grouped by what they look at. docs/mlperf-rules.md is made from these rows
 * (make docs). Sources are public: the power checker (mlcommons/power-dev compliance/check.py), the
 * submission checker (mlcommons/inference tools/submission), the rules (mlcommons/inference_policies),
 * reports of users. */
#include "mlperf/rule.h"

#include "base/banned.h"

#define FAIL       JM_MLPERF_FAIL
#define WARN       JM_MLPERF_WARN
#define NOTE       JM_MLPERF_NOTE
#define CHECKER    "mlcommons/power-dev compliance/check.py"
#define POLICY     "mlcommons/inference_policies power_measurement.adoc"
#define RULES      "mlcommons/inference_policies inference_rules.adoc"
#define SUBMISSION "mlcommons/inference tools/submission"
#define TRAINING   "mlcommons/training_policies power_measurement.adoc"
#define LOGGING    "mlcommons/logging mlperf_logging"
#define TINY       "eembc/energyrunner README.md"

/* clang-format off */
const struct jm_mlperf_rule jm_mlperf_rule_table[] = {
    /* --- files of a session ------------------------------------------------------------------------------ */
    {"files.present", "v1.0-", FAIL, 0, "All files of the workflow are there",
     "power/ holds client.json, client.log, ptd_logs.txt, server.json and server.log; ranging/ and run_1/ hold spl.txt, "
     "mlperf_log_detail.txt and mlperf_log_summary.txt.",
     SUBMISSION " constants.py REQUIRED_POWER_FILES, REQUIRED_PERF_POWER_FILES"},
    {"files.readable", "v1.0-", FAIL, 0, "Every file can be read whole",
     "No file is cut, empty or of another format than its name says.", POLICY},
    {"files.extra", "v1.0-", NOTE, 0, "No file but those of the workflow",
     "ptd_out.txt and files of single analyzers are to be removed before a submission: the submission checker wants exactly "
     "the files it knows.",
     SUBMISSION " constants.py"},

    /* --- the sources that ran ---------------------------------------------------------------------------- */
    {"sources.client", "v1.0-", FAIL, 1, "The client is an unmodified release",
     "The SHA-1 of every source in client.json's \"sources\" are those of a release of the workflow that the round accepts.",
     CHECKER " sources_check, sources_checksums.json"},
    {"sources.server", "v1.0-", FAIL, 2, "The server is an unmodified release",
     "The SHA-1 of every source in server.json's \"sources\" are those of a release of the workflow that the round accepts.",
     CHECKER " sources_check, sources_checksums.json"},

    /* --- PTDaemon and the analyzer ----------------------------------------------------------------------- */
    {"ptd.version", "v1.0-", FAIL, 3, "PTDaemon is of a version that the round accepts",
     "The reply to Identify names a version of the round: 1.9.1 or 1.9.2 (v1.0 to v2.1), 1.10.0 (v3.0 to v4.1), 1.11.1 (from "
     "v5.0).",
     CHECKER " SUPPORTED_VERSION"},
    {"ptd.build", "v1.0-", NOTE, 0, "PTDaemon is a build seen in published results",
     "version=<version>-<checksum>-<date>: another checksum than that of published sessions of the same version is a binary "
     "that nobody else used.",
     "published results v1.0 to v5.1"},
    {"ptd.model", "v1.0-", FAIL, 3, "The analyzer is a supported model",
     "The first word of the reply to Identify is a Yokogawa model that the round accepts.", CHECKER " SUPPORTED_MODEL"},
    {"ptd.replies", "v1.0-", FAIL, 3, "Every command of the sequence was accepted",
     "SR,A and SR,V change the range, Go starts an untimed measurement at 1000 ms, every Stop ends one; only the Stop that "
     "follows the last measurement of an analyzer finds none.",
     CHECKER " ptd_messages_check"},
    {"ptd.sequence", "v1.0-", FAIL, 0, "Two measurements were made, with the marks of this session",
     "Each analyzer runs Go,1000,0,<session>_ranging and Go,1000,0,<session>_testing, in this order, once.",
     "mlcommons/power-dev ptd_client_server/lib/server.py"},
    {"ptd.restored", "v1.0-", WARN, 3, "The analyzer's ranges were put back",
     "The last SR,A and SR,V of each analyzer give back the ranges that RR named at the start, Auto where it was on or unknown.",
     CHECKER " ptd_messages_check"},
    {"ptd.config", "v1.0-", FAIL, 10, "The device type is supported",
     "Every entry of server.json's \"ptd_config\" names a device type that the round accepts, and one that fits the model that "
     "Identify named.",
     CHECKER " check_ptd_config"},
    {"ptd.multichannel", "v1.0-", FAIL, 10, "A multichannel device is used with several channels",
     "Device types 48 and 77 that are multichannel give their first channel and their count to PTDaemon, and the log has them.",
     CHECKER " check_ptd_config"},
    {"ptd.simulated", "v1.0-", FAIL, 0, "The power was measured, not simulated",
     "Device type 0 is PTDaemon's dummy; a maker JOULEMARK or a model SIM is a stand-in. Such a session is not an official "
     "measurement.",
     "mlcommons/power-dev README.md"},
    {"ptd.watts_reply", "v1.0-", WARN, 0, "PTDaemon's own mean agrees with the log",
     "The reply to Watts after a measurement is the mean over all its good samples; spl.txt must give the same.",
     "mlcommons/power-dev ptd_client_server/lib/server.py"},
    {"ptd.uncertainty_reply", "v1.0-", WARN, 0, "PTDaemon's count of uncertain samples agrees with its log",
     "The reply to Uncertainty counts samples above 1 %; ptd_logs.txt must hold as many such warnings for the testing phase.",
     "mlcommons/power-dev ptd_client_server/lib/server.py"},
    {"ptd.uncertainty_value", "v1.0-", WARN, 0, "PTDaemon's mean uncertainty follows from analyzer, ranges and samples",
     "The mean of the reply to Uncertainty is that of the analyzer's limits at the ranges and power factors of the same samples: "
     "exact in every published session that has it. Another value means other ranges, another crest factor, another model or "
     "other samples.",
     "mlcommons/power-dev lib/server.py; the makers' manuals"},
    {"server.debug", "v1.0-", FAIL, 11, "The server did not run in debug mode",
     "server.json says \"debug\": true where waiting times were shortened.", CHECKER " debug_check"},

    /* --- identity ---------------------------------------------------------------------------------------- */
    {"session.uuid", "v1.0-", FAIL, 4, "Client and server wrote the same UUIDs",
     "uuid.client and uuid.server are equal in client.json and server.json.", CHECKER " uuid_check"},
    {"session.name", "v1.0-", FAIL, 5, "Client and server wrote the same session name",
     "session_name is equal in client.json and server.json.", CHECKER " session_name_check"},
    {"session.date", "v1.0-", WARN, 0, "The session's name carries the date of its phases",
     "A session is named after the Director's local time at its start.", "mlcommons/power-dev ptd_client_server/lib/server.py"},

    /* --- clocks ------------------------------------------------------------------------------------------ */
    {"clock.difference", "v1.0-", FAIL, 6, "The clocks of SUT and Director agree",
     "At each step of each phase they differ by no more than the round allows (200 ms to v2.0, 500 ms to v3.1, then 800 ms).",
     CHECKER " phases_check, TIME_DELTA_TOLERANCE; power-dev #262, #320"},
    {"clock.inside", "v1.0-", FAIL, 6, "The load ran inside its phase",
     "power_begin and power_end lie between the start and the stop of the phase in which the workload ran.",
     CHECKER " phases_check"},
    {"clock.dst", "v1.0-", WARN, 0, "No clock is an hour off",
     "The public checker tries again with an hour less (a workaround for daylight saving time); where only that helps, one "
     "machine's time zone is wrong.",
     CHECKER " phases_check; power-dev #205, inference #893"},
    {"clock.order", "v1.0-", FAIL, 0, "Ranging came before testing, and time ran forward",
     "The steps of the phases, their loads and the stamps of the log are in order.",
     "mlcommons/power-dev ptd_client_server/lib/client.py"},
    {"clock.step", "v1.0-", WARN, 0, "No clock was set while a phase ran",
     "Wall clock and monotonic clock of each side advance alike between the steps of a phase (100 ms).",
     "mlcommons/power-dev ptd_client_server/lib/common.py"},
    {"clock.ntp", "v1.0-", WARN, 0, "The time requests agreed within 400 ms",
     "The client asks the server for its time before each phase; the workflow repairs a difference above 400 ms with set_ntp.",
     "mlcommons/power-dev ptd_client_server/lib/time_sync.py"},
    {"clock.director", "v1.0-", WARN, 0, "The Director is another machine than the SUT",
     "Where the monotonic clocks of client and server agree, both ran on one machine: the Director's work is then part of the "
     "measured load.",
     POLICY},

    /* --- messages ---------------------------------------------------------------------------------------- */
    {"messages.agree", "v1.0-", FAIL, 7, "Client and server wrote the same conversation",
     "As many commands, in the same order, with the same replies except to time.", CHECKER " messages_check"},
    {"messages.version", "v1.0-", FAIL, 7, "Client and server speak the same protocol version",
     "mlcommons/power client vN is answered by mlcommons/power server vN.", CHECKER " messages_check"},
    {"messages.order", "v1.0-", FAIL, 0, "The conversation follows the workflow",
     "new, then start and stop of ranging, then start and stop of testing, each answered OK.",
     "mlcommons/power-dev ptd_client_server/doc/sequence.puml"},
    {"messages.upload", "v1.0", NOTE, 0, "Logs were uploaded by the client",
     "Only the workflow of v1.0 uploads the client's logs to the Director.", "mlcommons/power-dev ptd_client_server/lib/client.py"},

    /* --- hashes ------------------------------------------------------------------------------------------ */
    {"results.checksums", "v1.0-", FAIL, 8, "Every result file is the one that was hashed",
     "SHA-1 of each of the nine files equals that of client.json or server.json.", CHECKER " results_check"},
    {"results.line_ends", "v1.0-", WARN, 8, "Files were not rewritten",
     "A file that matches its hash only after its line ends are changed between LF and CRLF holds the same text, but was "
     "rewritten (a repository that normalises line ends does so).",
     CHECKER " results_check; published results v2.0"},
    {"results.agree", "v1.0-", FAIL, 8, "Client and server hashed the same files",
     "Where both recorded a file, they recorded one SHA-1.", CHECKER " results_check"},
    {"results.listed", "v1.0-", FAIL, 8, "Every required file was hashed",
     "The nine result files appear in client.json or server.json, each once.", CHECKER " results_check"},
    {"results.others", "v1.0-", NOTE, 0, "Files that were hashed beside the required ones are there",
     "A file that client.json or server.json names but that was removed cannot be looked at any more.", CHECKER " results_check"},

    /* --- PTDaemon's log ---------------------------------------------------------------------------------- */
    {"ptdlog.ranging", "v1.0-", FAIL, 9, "PTDaemon's log shows both measurements of this session",
     "Go with mark '<session>_ranging' and '<session>_testing', each followed by Completed test.", CHECKER " check_ptd_logs"},
    {"ptdlog.uncertainty_on", "v1.0-", FAIL, 9, "Uncertainty was checked from the start",
     "Uncertainty checking for the analyzer is activated before ranging starts, for every analyzer.", CHECKER " check_ptd_logs"},
    {"ptdlog.errors_load", "v1.0-", FAIL, 9, "No error while the load was measured",
     "No error between power_begin and power_end of testing, nor a message that says that samples are wrong, such as \"Current "
     "exceeds peak value allowed for range\". The public checker looks for upper-case ERROR and WARNING only, stops at the first "
     "warning it finds, and leaves out 800 s (for 800 ms) at both ends.",
     CHECKER " check_ptd_logs; power-dev #288"},
    {"ptdlog.errors_other", "v1.0-", FAIL, 9, "No error outside ranging",
     "An error before, between or after the measurements points at a lost connection; \"USB.\" is accepted.",
     CHECKER " check_ptd_logs COMMON_ERROR_TESTING"},
    {"ptdlog.errors_ranging", "v1.0-", NOTE, 9, "No error while ranging",
     "Errors while the analyzer looks for its ranges are usual and do no harm.", CHECKER " check_ptd_logs COMMON_ERROR_RANGING"},
    {"ptdlog.uncertainty", "v1.0-", FAIL, 9, "No measured sample is more than 1 % uncertain",
     "No sample between power_begin and power_end is above 1 %, in any of PTDaemon's wordings, on the sum or on any channel. A "
     "failure from v3.1, before that a warning.",
     CHECKER " WARNING_NEEDS_TO_BE_ERROR_TESTING_RE (0d72c26); power-dev #280, #288"},
    {"ptdlog.unknown", "v1.0-", WARN, 9, "The uncertainty of every measured sample is known",
     "PTDaemon could not evaluate the uncertainty of samples between power_begin and power_end.", CHECKER " check_ptd_logs"},
    {"ptdlog.missed", "v1.0-", WARN, 9, "PTDaemon missed no sample of the load",
     "\"Missed N samples\" between power_begin and power_end.", CHECKER " check_ptd_logs"},
    {"ptdlog.warnings", "v1.0-", WARN, 9, "No other warning while the load was measured",
     "Any other warning between power_begin and power_end.", CHECKER " check_ptd_logs"},
    {"ptdlog.line_safe", "v1.0-", NOTE, 0, "PTDaemon's log has whole lines",
     "Messages that were written into the middle of others are usual from v4.1 on; they may hide one.", "published results v4.1, v5.1"},

    /* --- samples ----------------------------------------------------------------------------------------- */
    {"samples.present", "v1.0-", FAIL, 0, "The load was sampled",
     "spl.txt of testing has samples between power_begin and power_end.", SUBMISSION " get_power_metric"},
    {"samples.covers", "v1.0-", FAIL, 0, "The log covers the whole load",
     "Samples begin before power_begin and end after power_end.", "audit guidelines, mlcommons/inference_policies"},
    {"samples.over_range", "v1.0-", FAIL, 0, "No sample of the load is over range",
     "PTDaemon writes an over-range sample as -(3 + value). From v3.1 on such samples are silently left out of the published "
     "mean, before they were averaged as negative power.",
     "power-dev #329; published results v5.1"},
    {"samples.bad", "v1.0-", WARN, 0, "No sample of the load is bad",
     "-1 stands for a reading that was no number.", "power-dev #329; published results"},
    {"samples.missed", "v1.0-", WARN, 0, "No sample of the load is missing",
     "-2 stands for a missed sample; to v3.0 it was averaged as power.", "published results v2.0"},
    {"samples.zero", "v1.0-", WARN, 0, "No sample of the load is zero", "A system under load draws power.", POLICY},
    {"samples.rate", "v1.0-", WARN, 0, "One sample a second",
     "Between power_begin and power_end there is one sample a second (0.9983 to 1.0017 in all published sessions).",
     "published results v1.0 to v5.1"},
    {"samples.gap", "v1.0-", WARN, 0, "No gap in the samples",
     "No two samples of the load lie more than 2.1 s apart.", "published results v1.0 to v5.1"},
    {"samples.duplicates", "v1.0-", NOTE, 0, "No two samples have one stamp",
     "A row with the stamp of the row before stands for a missed sample, or a line was written twice.", "published results v2.0"},
    {"samples.order", "v1.0-", FAIL, 0, "The samples are in order of time", "No stamp lies before the one above it.", POLICY},
    {"samples.broken", "v1.0-", WARN, 0, "Every line of the log is a sample",
     "A line that does not follow the format of spl.txt.", "mlcommons/power-dev ptd_client_server/lib/server.py"},
    {"samples.marks", "v1.0-", FAIL, 0, "Every sample carries the mark of this session",
     "Mark,<session>_<ranging|testing> of another session or phase: the log is of another run.",
     RULES " power is measured in the same run as performance"},
    {"samples.frozen", "v1.0-", WARN, 0, "The readings move",
     "The same power, to the last digit, for 30 s and more: the analyzer or the connection stood still.", "house rule"},
    {"samples.sum", "v1.0-", WARN, 0, "The sum is that of its channels",
     "Watts of the sum equals the sum over the channels or analyzers (exact in every published session).",
     "published results v3.0 to v5.1; power-dev #329"},

    /* --- the load ---------------------------------------------------------------------------------------- */
    {"load.window", "v1.0-", FAIL, 0, "LoadGen says when the load began and ended",
     "mlperf_log_detail.txt has power_begin and power_end, in this order, for ranging and testing.",
     SUBMISSION " get_power_metric"},
    {"load.duration", "v1.0-", FAIL, 0, "The load ran long enough",
     "At least 600 s, and at least the minimum duration that LoadGen was given.",
     RULES "; " SUBMISSION " TEST_DURATION_MS"},
    {"load.valid", "v1.0-", FAIL, 0, "LoadGen says VALID",
     "result_validity, and its parts: minimum duration, queries, performance constraints and early stopping met.",
     RULES "; mlcommons/inference loadgen/results.cc"},
    {"load.errors", "v1.0-", FAIL, 0, "LoadGen logged no error",
     "num_errors is 0 and no line of mlperf_log_detail.txt is an error.", SUBMISSION " check_performance_dir"},
    {"load.mode", "v1.0-", FAIL, 0, "The run is a performance run",
     "Power is measured in performance mode only, never in accuracy or compliance runs.", RULES},
    {"load.scenario", "v1.0-", NOTE, 0, "The claimed scenario is the one that ran",
     "A result may be inferred from another scenario's run; its power is then that run's.", RULES " inferred results"},
    {"load.same", "v1.0-", WARN, 0, "Ranging ran the same load as testing",
     "Scenario, minimum duration and target of both detail logs are equal.", POLICY},

    /* --- token latencies of LLMs ------------------------------------------------------------------------- */
    {"latency.token_latencies", "v4.0-", FAIL, 0, "LoadGen kept token latencies",
     "requested_use_token_latencies is true for the benchmarks whose tokens are limited, in every scenario.",
     SUBMISSION " extra_check_llm (v4.0 to v5.1), checks/performance_check.py llm_check"},
    {"latency.ttft", "v4.0-", FAIL, 0, "The first token comes in time",
     "The 99 % percentile of the time to the first token is below the limit of benchmark and scenario (Server, Interactive).",
     SUBMISSION " LLM_LATENCY_LIMITS; mlcommons/inference loadgen/mlperf.conf"},
    {"latency.tpot", "v4.0-", FAIL, 0, "Further tokens come in time",
     "The 99 % percentile of the time per output token is below the limit of benchmark and scenario (Server, Interactive).",
     SUBMISSION " LLM_LATENCY_LIMITS; mlcommons/inference loadgen/mlperf.conf"},
    {"latency.e2e", "v3.1-", FAIL, 0, "The answer is whole in time",
     "The 99 % percentile of the latency is not above the limit of benchmark and scenario (gptj Server: 20 s).",
     SUBMISSION " latency-constraint; mlcommons/inference loadgen/mlperf.conf"},
    {"latency.early_stopping", "v3.1-", FAIL, 0, "Enough queries stand behind the percentiles",
     "early_stopping_met of LoadGen is true in Server and Interactive.",
     SUBMISSION " uses_early_stopping; mlcommons/inference loadgen/early_stopping.cc"},

    /* --- ranging against testing ------------------------------------------------------------------------- */
    {"ranging.done", "v1.0-", FAIL, 0, "The analyzer was ranged by a run of the load",
     "A session of the experimental no-ranging mode is not valid for a submission.", "mlcommons/power-dev README.md; power-dev #314"},
    {"ranging.duration", "v1.0-", WARN, 6, "Testing took as long as ranging",
     "Testing is not shorter than ranging by more than 50 % (5 % to v3.0).", CHECKER " phases_check; power-dev #239, #293"},
    {"ranging.power", "v1.0-", FAIL, 6, "Testing drew as much power as ranging",
     "Mean power of testing is not more than 5 % below that of ranging: else the ranges do not fit the load.",
     CHECKER " phases_check; power-dev #301"},
    {"ranging.set", "v1.0-", WARN, 0, "The ranges follow from ranging",
     "SR,V of testing is the largest voltage of ranging, SR,A the largest current times 1.1.",
     "mlcommons/power-dev ptd_client_server/lib/server.py"},
    {"ranging.enough", "v1.0-", WARN, 0, "The ranges were wide enough",
     "No good sample of testing has a current above the range that was set.", "power-dev #280; Yokogawa WT310E, WT500 manuals"},
    {"ranging.factor", "v1.0-", WARN, 0, "The power factor is not low",
     "Below 0.5 the analyzer's error grows and current peaks may leave the range unseen.", "power-dev #280, PR #281, #317"},

    /* --- a submission around the session ----------------------------------------------------------------- */
    {"submission.place", "v1.0-", NOTE, 0, "The result stands where the round's layout has it",
     "<division>/<submitter>/results/<system>/<benchmark>/<scenario>/performance, with division closed, open or network.",
     SUBMISSION " submission_structure.md"},
    {"submission.files", "v1.0-", FAIL, 0, "Exactly the files of the round",
     "power/, ranging/ and run_1/ hold the files that the submission checker knows and no other: ptd_out.txt and the logs of "
     "single analyzers have to be removed (mlperf_log_accuracy.json may stay, mlperf_log_trace.json and results.json are "
     "passed over).",
     SUBMISSION " constants.py REQUIRED_PERF_FILES, REQUIRED_PERF_POWER_FILES, REQUIRED_POWER_FILES, OPTIONAL_PERF_FILES"},
    {"submission.runs", "v1.0-", FAIL, 0, "Power and performance are of one run",
     "The result holds one performance run, the one that was measured. Of several runs nobody may take the best performance and "
     "the lowest power.",
     POLICY " Power and Performance Reporting and Measurement"},
    {"submission.performance_only", "v1.0-", FAIL, 0, "No power logs beside accuracy and compliance runs",
     "Power is measured in the performance phase only.", POLICY " Power is measured in performance phase"},
    {"submission.inferred", "v1.0-", FAIL, 0, "An inferred result uses the power of its base run",
     "MultiStream and Offline may be inferred from SingleStream, Offline from MultiStream; the measured power is that of the "
     "base result, so its files are the same.",
     RULES " inferred results"},
    {"submission.description", "v1.0-", FAIL, 0, "The system is described",
     "systems/<system>.json is there and a JSON object.", SUBMISSION " system_check"},
    {"submission.description_fields", "v1.0-", FAIL, 0, "Every field of the system description is there",
     "All fields that the round asks for, filled where an answer is needed (from v3.1).",
     SUBMISSION " SYSTEM_DESC_REQUIRED_FIELDS, SYSTEM_DESC_MEANINGFUL_RESPONSE_REQUIRED_FIELDS"},
    {"submission.description_power", "v1.0-", WARN, 0, "The fields for power are filled",
     "power_management, firmware versions, power supplies, network and disks as they were measured. The rules ask for them; the "
     "public checker has that check switched off.",
     POLICY " Platform Description; " SUBMISSION " SYSTEM_DESC_REQUIRED_FIELDS_POWER"},
    {"submission.description_agrees", "v1.0-", FAIL, 0, "The description is of this submission",
     "Division and submitter of the description are those of the folders; status is available, preview or rdi; system_type is "
     "datacenter, edge or both.",
     SUBMISSION " system_check"},
    {"submission.network", "v1.1-", FAIL, 0, "The network division is measured over the network",
     "is_network is true in the network division and in no closed result; switches and load balancers then count as the SUT.",
     RULES " LoadGen over the network; " SUBMISSION " network_check"},
    {"submission.analyzer_table", "v1.0-", FAIL, 0, "The analyzer's settings are reported",
     "analyzer_table.* that is not empty, in the folder of the scenario, benchmark, system or measurements. Asked for by the rules; "
     "the public checker looked for it from v4.0 to v5.1.",
     POLICY " Power Analyzer Settings; " SUBMISSION " REQUIRED_POWER_MEASURE_FILES"},
    {"submission.analyzer_agrees", "v1.0-", WARN, 0, "The reported analyzer is the one that measured",
     "Model, firmware and number of channels of analyzer_table.* are those that PTDaemon identified and logged.", POLICY},
    {"submission.power_settings", "v1.0-", FAIL, 0, "The power management settings are reported",
     "power_settings.* that is not empty, in the folder of the scenario, benchmark, system or measurements.",
     POLICY " Platform Description; " SUBMISSION " REQUIRED_POWER_MEASURE_FILES"},
    {"submission.measurements", "v1.0-", FAIL, 0, "The files that describe the implementation are there",
     "README.md, user.conf, the description of the implementation and, to v4.1, mlperf.conf; none is empty.",
     SUBMISSION " REQUIRED_MEASURE_FILES, SYSTEM_IMP_REQUIRED_FILES"},
    {"submission.user_conf", "v1.0-", WARN, 0, "The run used its user.conf",
     "The minimum duration that user.conf sets for the scenario is the one that LoadGen ran with.", RULES},
    {"submission.one_meter", "v1.0-v2.0", FAIL, 0, "One power meter for the system",
     "Connecting several meters to one system was not supported in these rounds.", POLICY " Power Analyzer Settings"},
    {"submission.disaggregated", "v1.0-", WARN, 0, "The system is no disaggregated one",
     "The measurement flow does not apply to disaggregated systems. Of a system of several nodes every node has to be on a meter.",
     POLICY " Power Measurement Flow"},
    {"submission.networking", "v1.0-", NOTE, 0, "All required networking was populated",
     "Datacenter systems are measured with the networking that their performance needs; network ports and cards are part of the "
     "description.",
     RULES " data center systems"},
    {"submission.battery", "v1.0-", NOTE, 0, "No battery fed the system",
     "Wall AC power is measured, of everything that LoadGen's run needs, and no battery or other store lies between meter and "
     "power supply. A program cannot see that.",
     POLICY " Power Delivery for Measurements"},
    {"submission.power_management", "v1.0-", NOTE, 0, "Power management was left alone",
     "No manual change during the runs, and nothing that knows the benchmark. A program sees what was declared.",
     POLICY " Power Management"},
    {"submission.preview", "v1.0-", NOTE, 0, "A preview result has to be reached when it becomes available",
     "Performance normalised by power is compared when a preview system is submitted as available.",
     "mlcommons/policies submission_rules.adoc"},

    /* --- figures that an audit looks at ------------------------------------------------------------------ */
    {"audit.figures", "v1.0-", NOTE, 0, "The figures of the audit guidelines",
     "qps_per_watt = samples per second / mean power; joules_per_stream = mean query latency x mean power.",
     "audit guidelines, mlcommons/inference_policies"},
    {"audit.window", "v1.0-", WARN, 0, "The power window is as long as the run",
     "power_end - power_begin is the time that LoadGen's own rate and count give, within 2 %.",
     "audit guidelines, mlcommons/inference_policies"},
    {"audit.reproduction", "v1.0-", FAIL, 0, "A reproduction gives the same power",
     "Power and performance of the reproduced run are within 2 % of the submitted one.",
     "audit guidelines, mlcommons/inference_policies"},
    {"audit.exempt", "v1.0-", NOTE, 0, "Left out of the random audit",
     "A result whose efficiency is within 10 % of an audited one of the same system and benchmark is not drawn again.",
     "audit guidelines, mlcommons/inference_policies"},

    /* --- nameplate --------------------------------------------------------------------------------------- */
    {"nameplate.declared", "v6.1-", WARN, 0, "The nameplate power of the system is declared",
     "systems/<system>_power.yaml gives for every component its power supplies and how many must be there, or "
     "system_power_capacity of the description gives the sum. It is what the supplies are built for, not what was drawn.",
     SUBMISSION " nameplate_power_check"},
    {"nameplate.readable", "v6.1-", FAIL, 0, "The declaration can be read",
     "Every leaf has PSUs with PowerCapacityWatts and a whole number of Min PSUs Needed, not more than there are.",
     SUBMISSION " nameplate_power_check; submission_structure.md"},
    {"nameplate.plausible", "v6.1-", WARN, 0, "The system did not draw more than its nameplate",
     "Mean power of the load is not above the declared power of the supplies that must be there.", POLICY},
    {"nameplate.messaging", "v1.0-", NOTE, 0, "No efficiency is made of a nameplate",
     "Only measured system power may be used for performance per watt; never TDP or the rating of power supplies.",
     "mlcommons/policies MLPerf_Results_Messaging_Guidelines.adoc"},

    /* --- MLPerf Training --------------------------------------------------------------------------------- */
    {"training.runs", "", FAIL, 0, "Every run has power",
     "power/result_<i>/ beside each result_<i>.txt, as many as the benchmark needs.", TRAINING " Measure all Runs"},
    {"training.names", "", FAIL, 0, "The power logs are named as the layout has them",
     "node_<j>.txt and sw_<k>.txt, indices from 0 without a gap, in a folder called like the result without .txt; as many in each "
     "run.",
     LOGGING " package_checker/power_checker.py"},
    {"training.nodes", "", FAIL, 0, "Every node was measured",
     "As many node_<j>.txt as the system has nodes, with readings.", TRAINING " Measure All Nodes"},
    {"training.interconnect", "", FAIL, 0, "The interconnect was measured or estimated",
     "Where several nodes train together, sw_<k>.txt holds readings or interconnect_power_est (the maximum power, by the share that "
     "the run was provisioned with).",
     TRAINING " Measure or Estimate Interconnects"},
    {"training.switches", "", WARN, 0, "Measured switches are counted",
     "The public code takes interconnect_power_est only: switches that were measured count 0 J in the published energy.",
     LOGGING " result_summarizer.py _compute_power_sw"},
    {"training.efficiency", "", FAIL, 0, "The conversion efficiency is given and a share of 1",
     "Power of a node is DC at its supplies' output; where the AC input was measured, conversion_eff leads to it and has to be "
     "documented.",
     TRAINING " Measure at the PSUs"},
    {"training.rate", "", FAIL, 0, "At least one reading a second",
     "Evenly through the timed part of the run: one a second on average, none more than 1.5 s after the one before.",
     TRAINING " Report 1 Measurement per Second; training_results_v4.0 #4"},
    {"training.samples", "", FAIL, 0, "At least 60 readings", "Shorter runs are to be extended.",
     TRAINING " Measure max(a run, 60 power samples)"},
    {"training.covers", "", FAIL, 0, "The readings cover the timed part of the run",
     "Measurement begins before run_start and ends after run_stop.", TRAINING " Measure max(a run, 60 power samples)"},
    {"training.stop", "", FAIL, 0, "The measurement says when it began and ended",
     "power_measurement_start, and power_measurement_stop after it. Where both have one time, the public code divides by zero.",
     LOGGING " result_summarizer.py _compute_power_node; training_results_v4.0"},
    {"training.clock", "", WARN, 0, "The clocks of the parts agree with the run's",
     "A log whose stamps lie hours off (a time zone) is laid on the others; parts begin within 5 s of each other.",
     "published results v4.1"},
    {"training.readings", "", WARN, 0, "Every line of the power logs can be used",
     "Readings without a number or time, below 0, and lines that are no log lines.", LOGGING},
    {"training.repeats", "", NOTE, 0, "No reading stands twice",
     "A reading with the stamp of the one before adds nothing; where stamps are whole seconds it shows that the meter was read late.",
     "published results v4.1"},
    {"training.accuracy", "", NOTE, 0, "The meter is accurate to 5 %",
     "A SPEC or revenue grade meter better than 5 % at 1 Hz, or five minutes of comparison with one. A program cannot see that.",
     TRAINING " Target 5% Accuracy"},
    {"training.energy", "", WARN, 0, "The published energy is the energy of the run",
     "The rules sum each reading times its time over the timed part; the public code scales the mean over the whole measurement to "
     "the length of the run.",
     TRAINING " Scoring; " LOGGING " result_summarizer.py"},
    {"training.olympic", "", FAIL, 0, "The energy is the mean over the runs of the performance score",
     "Runs in the order of their times, the fastest and the slowest left out (3D U-Net: four each); the same ones for power.",
     TRAINING " Scoring"},

    /* --- MLPerf Tiny ------------------------------------------------------------------------------------- */
    {"tiny.windows", "", FAIL, 0, "Five inputs, a window each",
     "As many windows between the device's edges as inference commands of the log; five are asked for.", TINY},
    {"tiny.edges", "", FAIL, 0, "Every edge of the device was seen",
     "Two edges a window, and one of the device's start. A pulse has to last 1 us, which samples of 1 ms cannot show.", TINY},
    {"tiny.duration", "", FAIL, 0, "Each window is at least 10 s long", "The runner refuses shorter ones.", TINY},
    {"tiny.inferences", "", FAIL, 0, "At least 10 inferences in each window", "The runner refuses fewer.", TINY},
    {"tiny.dropped", "", FAIL, 0, "No more than 0.1 % of the samples were lost",
     "A lost sample is written as no number.", TINY "; eembc js110 tracer"},
    {"tiny.limit", "", FAIL, 0, "The limit of lost samples was not raised",
     "The log says m-dropthresh[...]: 0.1 % is allowed.", "eembc js110 tracer"},
    {"tiny.agrees", "", FAIL, 0, "results.txt says what the trace gives",
     "Energy of each window to 0.001 uJ or its last digit, energy per inference to 0.001 uJ, and their median.", TINY},
    {"tiny.resolution", "", NOTE, 0, "What whole samples leave open",
     "The runner counts whole samples between the edges; the samples at the edges in proportion give the other figure.", TINY},
    {"tiny.mode", "", FAIL, 0, "The device ran in energy mode",
     "m-timestamp-mode-energy: in performance mode it prints its own times and draws more power.", TINY},
    {"tiny.errors", "", FAIL, 0, "The runner reported no error", "e-[...] in log.txt.", TINY},
    {"tiny.instrument", "", WARN, 0, "The energy monitor is one of the allowed ones",
     "STMicroelectronics LPM01A, Joulescope JS110 or JS220, Keysight N6705.", TINY "; mlcommons/tiny benchmark/runner"},
    {"tiny.hookup", "", NOTE, 0, "The hook-up of the device is documented",
     "A picture or drawing of it belongs to the submission. A program cannot see that.",
     "mlcommons/tiny MLPerfTiny_Rules.adoc"},

    {NULL, NULL, 0, 0, NULL, NULL, NULL},
};
/* clang-format on */
