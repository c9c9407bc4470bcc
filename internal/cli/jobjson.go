package cli

import (
	"encoding/json"

	"github.com/bide-go/bide/job"
)

// jobItem is a job as lists show it: all keys are always there.
type jobItem struct {
	ID                string  `json:"id"`
	Queue             string  `json:"queue"`
	Name              string  `json:"name"`
	State             string  `json:"state"`
	Trigger           text    `json:"trigger"`
	Schedule          text    `json:"schedule"`
	Tick              stamp   `json:"tick"`
	Created           stamp   `json:"created"`
	Due               stamp   `json:"due"`
	Started           stamp   `json:"started"`
	Finished          stamp   `json:"finished"`
	Attempts          int     `json:"attempts"`
	Lost              int     `json:"lost"`
	MaxAttempts       int     `json:"maxAttempts"`
	LastError         text    `json:"lastError"`
	Worker            text    `json:"worker"`
	LeaseUntil        stamp   `json:"leaseUntil"`
	CancelRequested   bool    `json:"cancelRequested"`
	Reason            text    `json:"reason"`
	Unique            text    `json:"unique"`
	TimeoutSeconds    seconds `json:"timeoutSeconds"`
	MinBackoffSeconds seconds `json:"minBackoffSeconds"`
	MaxBackoffSeconds seconds `json:"maxBackoffSeconds"`
	Expiry            stamp   `json:"expiry"`
	RetentionSeconds  seconds `json:"retentionSeconds"`
}

// jobWhole is a job with everything that Redis has of it.
type jobWhole struct {
	jobItem
	Args    json.RawMessage   `json:"args"`
	Headers map[string]string `json:"headers"`
	Errors  []failedAttempt   `json:"errors"`
}

type failedAttempt struct {
	Attempt int    `json:"attempt"`
	Kind    string `json:"kind"`
	Error   text   `json:"error"`
	Stack   text   `json:"stack"`
	Worker  text   `json:"worker"`
	Started stamp  `json:"started"`
	At      stamp  `json:"at"`
}

func itemOf(j *job.Job) jobItem {
	return jobItem{
		ID: j.ID, Queue: j.Queue, Name: j.Name, State: string(j.State), Trigger: text(j.Trigger),
		Schedule: text(j.Schedule), Tick: stamp(j.Tick),
		Created: stamp(j.Created), Due: stamp(j.Due), Started: stamp(j.Started), Finished: stamp(j.Finished),
		Attempts: j.Attempts, Lost: j.Lost, MaxAttempts: j.MaxAttempts, LastError: text(j.LastError()),
		Worker: text(j.Worker), LeaseUntil: stamp(j.LeaseUntil), CancelRequested: j.CancelRequested,
		Reason: text(j.Reason), Unique: text(j.Unique), TimeoutSeconds: seconds(j.Timeout),
		MinBackoffSeconds: seconds(j.MinBackoff), MaxBackoffSeconds: seconds(j.MaxBackoff),
		Expiry: stamp(j.Expiry), RetentionSeconds: seconds(j.Retention),
	}
}

func wholeOf(j *job.Job) jobWhole {
	whole := jobWhole{jobItem: itemOf(j), Args: j.Args, Headers: j.Headers, Errors: []failedAttempt{}}
	if len(whole.Args) == 0 {
		whole.Args = json.RawMessage("null")
	}
	for _, f := range j.Errors {
		whole.Errors = append(whole.Errors, failedAttempt{
			Attempt: f.Attempt, Kind: string(f.Kind), Error: text(f.Error), Stack: text(f.Stack),
			Worker: text(f.Worker), Started: stamp(f.Started), At: stamp(f.At),
		})
	}
	return whole
}
