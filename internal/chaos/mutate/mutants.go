package main

import (
	"slices"

	"github.com/bide-go/bide/internal/chaos"
)

// mutant is one mistake that bide must not have.
type mutant struct {
	name  string
	edits []edit
	pkg   string
	tests string // those that ought to notice, as for go test -run
}

type edit struct{ file, old, new string }

var mutants = []mutant{
	{
		"the token of a failed or released attempt is not checked",
		[]edit{{"scripts/lib/lease.lua", "if not value or string.sub(value, 1, #token + 1) ~= token .. ' ' then return nil end", "if not value then return nil end"}},
		"./scripts", "TestAStaleLeaseChangesNothing|TestTheSameProcessLeasesAJobAgain",
	},
	{
		"a job is completed without owning it",
		[]edit{{"scripts/lib/complete.lua", "if not value or find(value, owners[i], 1, true) ~= 1 then", "if not value then"}},
		"./scripts", "TestAStaleLeaseChangesNothing|TestTheSameProcessLeasesAJobAgain",
	},
	{
		"a move is made outside the script",
		[]edit{
			{"scripts/promote.lua", "redis.call('RPUSH', K.queue .. queue .. '-delayed', unpack", "redis.call('RPUSH', '{bide}:half:' .. queue, unpack"},
			{"scripts/promote.go", "	list := toList(reply)\n", `	for _, queue := range []string{"high", "medium", "low", "ordered"} {
		for s.rdb.LMove(ctx, "{bide}:half:"+queue, "{bide}:queue:"+queue+"-delayed", "LEFT", "RIGHT").Err() == nil {
		}
	}
	list := toList(reply)
`},
		},
		"./scripts", "TestNothingIsHalfDoneBetweenTwoCommands",
	},
	{
		"whoever fills a lane wakes nobody",
		[]edit{{"scripts/lib/wake.lua", "  redis.pcall('HSETNX', K.queues, queue, '')\n  wake(K.wake .. queue)\n", "  redis.pcall('HSETNX', K.queues, queue, '')\n"}},
		"./scripts", "TestWakeUpCalls",
	},
	{
		"an end is not counted",
		[]edit{{"scripts/lib/finish.lua", "  redis.call('HINCRBY', K.counts, state, 1)\n", ""}},
		"./scripts", "TestRetryDeathAndRevival|TestNothingIsHalfDoneBetweenTwoCommands",
	},
	{
		"due jobs are pushed to the front of their lane",
		[]edit{{"scripts/promote.lua", "redis.call('RPUSH', K.queue .. queue .. '-delayed', unpack", "redis.call('LPUSH', K.queue .. queue .. '-delayed', unpack"}},
		"./scripts", "TestDelayedJobsBecomeDueInOrder",
	},
	{
		"the body of a waiting job has a TTL",
		[]edit{{"scripts/lib/create.lua", "redis.call('SET', batch.bodies[1], batch.bodies[2])", "redis.call('SET', batch.bodies[1], batch.bodies[2], 'EX', 86400)"}},
		"./scripts", "TestNothingIsHalfDoneBetweenTwoCommands",
	},
	{
		"the body of a plain job has a TTL",
		[]edit{{"scripts/enqueue.lua", "due .. '\\t\\t' .. tail)\n      else", "due .. '\\t\\t' .. tail, 'EX', 86400)\n      else"}},
		"./scripts", "TestPlainJobsTogether",
	},
	{
		"an id that is twice in one call makes two jobs",
		[]edit{{"scripts/enqueue.lua", "done = call('DBSIZE') == before + jobs", "done = true"}},
		"./scripts", "TestPlainJobsTogether",
	},
	{
		"leases are not renewed while draining",
		[]edit{{"dispatcher/dispatcher.go", "go d.keepLeases(work)", "go d.keepLeases(ctx)"}},
		"./dispatcher", "TestDrain",
	},
	{
		"the cursor of a schedule is moved outside the script",
		[]edit{
			{"scripts/expand.lua", "redis.call('HSET', key, 'cursor', ARGV[4])\n", ""},
			{"scripts/schedules.go", "	list := toList(reply)\n	if toText(item(list, 0)) == \"ok\" {\n", "	list := toList(reply)\n	if toText(item(list, 0)) == \"ok\" {\n		s.rdb.HSet(ctx, s.keys.name(\"schedule\")+e.Schedule, \"cursor\", e.Next)\n"},
		},
		"./scripts", "TestNothingIsHalfDoneBetweenTwoCommands",
	},
	{
		"inbox entries are removed before they are adopted",
		[]edit{
			{"scripts/adopt.lua", "if redis.call('ZSCORE', K.inbox, member) then", "if member then"},
			{"scripts/adopt.go", "	reply, err := s.run(ctx, \"adopt\", args)\n", "	for i := range adoptions {\n		s.rdb.ZRem(ctx, s.keys.name(\"inbox\"), adoptions[i].Entry.Member)\n	}\n	reply, err := s.run(ctx, \"adopt\", args)\n"},
		},
		"./scripts", "TestNothingIsHalfDoneBetweenTwoCommands",
	},
	{
		"the local end of a lease is not watched",
		[]edit{{"dispatcher/lease.go", "		d.endLost()\n", ""}},
		"./dispatcher", "TestCutOffWorker",
	},
	{
		"what a reserve without an answer has leased is not asked for",
		[]edit{{"dispatcher/turn.go", "				d.unanswered = append(d.unanswered, unanswered{args.Token, sent, t.slots})\n", "				d.free += t.slots\n"}},
		"./dispatcher", "TestCutReplies",
	},
	{
		"the reaper takes what it sees expired for the first time",
		[]edit{{"dispatcher/reaper.go", "	return before, local.Sub(r.since) >= lease/2\n", "	return now, true\n"}},
		"./dispatcher", "TestReaperLeavesTimeToRenew|TestReaperAfterAClockStep|TestReaperTakesExpiredLeases",
	},
	{
		"jobs that were leased ahead are started beyond the slots",
		[]edit{{"dispatcher/ahead.go", "	if d.free > 0 && len(d.ahead) > 0 {\n", "	if d.free > -d.cfg.Concurrency && len(d.ahead) > 0 {\n"}},
		"./dispatcher", "TestAheadKeepsOrderAndConcurrency",
	},
	{
		"jobs that were given back are started all the same",
		[]edit{{"dispatcher/ahead.go", "		list, d.ahead = d.ahead, nil\n", "		list = d.ahead\n"}},
		"./dispatcher", "TestAheadGoesBackWhenItHasToWait",
	},
	{
		"a reserve that has been given up leases jobs when it comes late",
		[]edit{{"scripts/lib/reserve.lua", "    if type(fence) == 'string' and tonumber(number) <= (tonumber(fence) or 0) then return { us, 'idle' } end\n", ""}},
		"./scripts", "TestAReserveThatComesAfterItsRecovery",
	},
	{
		"what a lost answer leased is started in any order",
		[]edit{{"scripts/recover.lua", "  if a.at ~= b.at then return a.at < b.at end\n  return a.arrival < b.arrival\n", "  return a.arrival > b.arrival\n"}},
		"./scripts", "TestRecoverKeepsTheOrderOfTheLanes",
	},
	{
		"jobs are leased past those of a lost answer",
		[]edit{
			{"dispatcher/turn.go", "		d.asking++ // it brings jobs, and no others may overtake them\n", ""},
			{"dispatcher/turn.go", "	if t.reserves() {\n		d.asking--", "	if t.slots > 0 {\n		d.asking--"},
		},
		"./dispatcher", "TestNothingIsLeasedPastALostAnswer",
	},
	{
		"a run that has ended stays open for its schedule",
		[]edit{{"scripts/lib/finish.lua", "  redis.pcall('ZREM', K.open .. name, id)\n  if e.took", "  if e.took"}},
		"./scripts", "TestModelOfPolicies",
	},
	{
		"a tick runs beside the open run of its schedule",
		[]edit{{"scripts/lib/admit.lua", "  local first = #running == 0 and (others", "  local first = (others"}},
		"./scripts", "TestModelOfPolicies",
	},
	{
		"a due tick of a removed schedule runs beside its open run",
		[]edit{{"scripts/lib/admit.lua", "if fresh and not forced and s.policy ~= 'Allow' and", "if false and"}},
		"./scripts", "TestADueTickOfARemovedSchedule",
	},
	{
		"a batch of a backfill that is sent twice is made twice",
		[]edit{{"scripts/backfill.lua", "if made ~= ARGV[4] then return { 'ok', made } end\n", ""}},
		"./scheduler", "TestALargeBackfill",
	},
	{
		"one of many callers is told what became of another's job",
		[]edit{{"scheduler/gather.go", "list[i].result = resultOf(created)", "list[len(list)-1-i].result = resultOf(created)"}},
		"./scheduler", "TestEnqueuesGoTogether",
	},
}

// known reports whether text is the name of a rule.
func known(text string) bool { return slices.Contains(chaos.Rules, text) }
