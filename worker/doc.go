// Package worker holds the functions that do the work: a Registry maps the name
// of a job to its Handler and runs one attempt at a time through it.
//
//	reg := worker.NewRegistry()
//	worker.HandleFunc(reg, "sell-item", func(ctx context.Context, sale Sale) error {
//		return market.Sell(ctx, sale)
//	})
//
// A handler that returns nil has completed its job; any error is a failed
// attempt, which is retried after a pause while attempts are left. job.Permanent
// and job.RetryAfter say otherwise. A handler's panic is a failed attempt too
// and never ends the process.
//
// A job may be run more than once, as when its worker is killed in the middle of
// an attempt. A handler for which that matters finds the job with
// job.FromContext and remembers the ids it has dealt with.
//
// The package never talks to Redis and never decides when or where a job runs:
// that is the dispatcher's part.
package worker
