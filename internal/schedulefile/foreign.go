package schedulefile

import "go.yaml.in/yaml/v4"

// The words of other products: cron and its relatives, systemd timers, Kubernetes
// CronJobs, Dkron, Nomad, Airflow, APScheduler, Celery beat, Sidekiq-cron,
// sidekiq-scheduler, asynq, Quartz, Temporal and the schedulers of the clouds. They
// are compared as plainName has them.

// foreign are the words whose value can stay as it is, by what they mean here.
var foreign = wordsFor(map[string][]string{
	"schedule": {
		"cron", "crons", "cronspec", "spec", "crontab", "cronline", "cronexpr", "cronexpression", "cronexpressions", "cronschedule",
		"cronstring", "expression", "expr", "scheduleexpression", "scheduleinterval", "oncalendar", "trigger", "timing", "recurrence",
	},
	"timeZone": {"timezone", "tz", "timezonename", "zone", "location", "crontz"},
	"job": {
		"class", "type", "task", "handler", "worker", "workerclass", "jobclass", "jobname", "jobtype", "activejob", "taskname", "tasktype",
		"typename", "function", "func", "callable", "target", "workflow", "workflowtype", "action", "activity", "executor", "invoke",
	},
	"args": {
		"payload", "kwargs", "params", "parameters", "arguments", "arg", "data", "input", "inputs", "executorconfig", "dagrunconf",
	},
	"queue":       {"queuename", "taskqueue", "lane", "pool", "routingkey"},
	"description": {"desc", "comment", "note", "notes", "displayname", "title", "summary", "help"},
	"owner":       {"owneremail", "email", "mailto", "maintainer", "contact", "responsible"},
	"runbook":     {"runbookurl", "docs", "doc", "docmd", "documentation", "wiki", "link", "playbook"},
	"labels":      {"tags", "metadata", "meta", "annotations", "attributes"},
	"retry":       {"retrypolicy", "retryconfig", "retryoptions", "retrystrategy"},
	"history":     {"retention", "keep"},
	// Inside the maps.
	"maxAttempts": {"attempts", "maximumattempts", "limit", "tries", "maxtries"},
	"minBackoff":  {"initialinterval", "backoff", "delay", "retrydelay", "initialbackoff", "minbackoffduration"},
	"maxBackoff":  {"maximuminterval", "maxdelay", "maxretrydelay", "maximumbackoff", "maxbackoffduration"},
	"successful":  {"success", "succeeded", "completed", "successes", "ok"},
	"failed":      {"failure", "failures", "dead", "errors"},
	"schedules":   {"jobs", "entries", "tasks", "cronjobs", "crons", "cron", "crontab", "beatschedule", "periodictasks", "timers"},
	"defaults":    {"default", "common", "globals", "settings"},
})

func wordsFor(meanings map[string][]string) map[string]map[string]bool {
	byWord := map[string]map[string]bool{}
	for field, words := range meanings {
		for _, w := range words {
			if byWord[w] == nil {
				byWord[w] = map[string]bool{}
			}
			byWord[w][field] = true
		}
	}
	return byWord
}

// rewrite writes a foreign field as one of ours: its name, and the name with the
// value, as far as that can be said.
type rewrite func(v *yaml.Node) (field, text string)

// rewrites are the words whose value changes too.
var rewrites = rewritesOf([]rewriteOf{
	{onOff("suspend", "true", "false"), []string{"suspended", "disabled", "disable", "paused", "ispaused"}},
	{onOff("suspend", "false", "true"), []string{"enabled", "enable", "active", "status", "state"}},

	{policy("concurrencyPolicy", concurrencyWords, foreignConcurrency), []string{
		"concurrency", "concurrencypolicy", "overlap", "overlappolicy", "overlapping", "allowoverlap", "parallel", "concurrent",
	}},
	{onOff("concurrencyPolicy", "Forbid", "Allow"), []string{
		"nooverlap", "withoutoverlapping", "prohibitoverlap", "preventoverlap", "forbidoverlap", "singleton", "disallowconcurrentexecution",
	}},
	{instances, []string{"maxinstances", "maxactiveruns", "maxconcurrency", "maxrunning", "maxconcurrentruns"}},

	{policy("catchUp", catchUpWords, foreignCatchUp), []string{
		"missed", "onmissed", "missedruns", "misfire", "misfirepolicy", "misfireinstruction", "catchuppolicy",
	}},
	{onOff("catchUp", "All", "Latest"), []string{"catchup"}},
	{onOff("catchUp", "Latest", "All"), []string{"coalesce"}},
	{onOff("catchUp", "Latest", "Skip"), []string{"persistent"}},

	{lasting("startingDeadline"), []string{
		"startingdeadlineseconds", "startdeadline", "deadline", "misfiregracetime", "misfirethreshold", "catchupwindow",
		"expires", "expire", "expiresin", "expiry", "ttl", "graceperiod",
	}},
	{lasting("timeout"), []string{
		"timeoutseconds", "activedeadlineseconds", "executiontimeout", "attemptdeadline", "jobtimeout", "maxruntime", "timelimit",
		"softtimelimit", "workflowruntimeout", "workflowexecutiontimeout", "dagruntimeout", "runtimeout",
	}},
	{lasting("jitter"), []string{"jitterseconds", "maxjitter", "randomizeddelaysec", "randomdelay", "splay", "spread", "flexibletimewindow"}},

	{every, []string{"every", "interval", "intervals", "frequency", "rate", "period", "runevery", "onunitactivesec", "repeatinterval"}},
	{bound("startAt"), []string{"starttime", "startdate", "startsat", "notbefore", "validfrom", "from", "dtstart"}},
	{bound("endAt"), []string{"endtime", "enddate", "endsat", "notafter", "validto", "until", "to", "expiresat"}},

	{attempts(1), []string{
		"retries", "maxretries", "maxretry", "retrycount", "retrylimit", "numretries", "backofflimit", "maxretryattempts", "maxretrycount",
	}},
	{attempts(0), []string{"maxattempts", "attempts", "maximumattempts", "tries", "maxtries"}},
	{inRetry("minBackoff"), []string{"minbackoff", "backoff", "retrydelay", "retryinterval", "defaultretrydelay"}},
	{inRetry("maxBackoff"), []string{"maxbackoff", "maxretrydelay", "maxretryinterval"}},

	{kept("successful"), []string{"successfuljobshistorylimit"}},
	{kept("failed"), []string{"failedjobshistorylimit"}},
	{kept("successful", "failed"), []string{"historylimit", "historysize", "keeplast"}},

	{pauseOnFailure, []string{"pauseonfailure"}},
	{pauseAfter, []string{"maxfailures", "maxconsecutivefailures", "pauseafter", "maxconsecutivefaileddagruns"}},

	{priority, []string{"priority"}},
	{command, []string{"command", "cmd", "commandline", "shell", "script", "run", "execstart"}},
	{address, []string{"url", "uri", "webhook", "endpoint", "targeturl"}},
})

type rewriteOf struct {
	rewrite rewrite
	words   []string
}

func rewritesOf(list []rewriteOf) map[string]rewrite {
	byWord := map[string]rewrite{}
	for _, r := range list {
		for _, w := range r.words {
			byWord[w] = r.rewrite
		}
	}
	return byWord
}

// remark is for a word that no field stands for. Its field, if it has one, is not
// reported as missing too.
type remark struct{ hint, field string }

var (
	itsKey = remark{"the name of a schedule is its key under schedules", ""}
	noPods = remark{"there are no pods here: job names a handler of a worker, args are its arguments", "job"}
	beside = remark{"write queue, timeout, retry and startingDeadline beside job", ""}
	oneAll = remark{`one expression says it all: schedule: "minute hour day-of-month month day-of-week"`, "schedule"}
	noWait = remark{"a schedule waits for no other: let the first job enqueue the second", ""}
)

var remarks = map[string]remark{
	"name": itsKey, "id": itsKey, "entryid": itsKey, "scheduleid": itsKey,
	"jobtemplate": noPods, "image": noPods, "containers": noPods, "template": noPods,
	"options": beside, "opts": beside,
	"minute": oneAll, "hour": oneAll, "dayofweek": oneAll, "dayofmonth": oneAll, "weekday": oneAll, "monthofyear": oneAll,
	"dependson": noWait, "dependsonpast": noWait, "parentjob": noWait, "after": noWait,
	"user":      {"a command runs as the user of the worker", ""},
	"onfailure": {"notifications are not in this version", ""},
}

// manifestWords begin a Kubernetes manifest.
var manifestWords = []string{"apiversion", "kind", "metadata", "spec"}

const manifestHint = "this looks like a Kubernetes manifest; a file of bide has version and schedules"
