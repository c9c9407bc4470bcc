package scripts

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/job"
)

// ReserveJobs bounds one call of reserve.
const ReserveJobs = 500

// Offer is how many free slots a queue is offered before the others get the rest.
type Offer struct {
	Queue string
	Slots int
}

// ReserveArgs describes what a process can take.
type ReserveArgs struct {
	// Token marks the leases: "<worker id>:<number>", a larger one each time.
	Token  string
	Lease  time.Duration
	Limit  int
	Offers []Offer
	Names  []string
	// WokenFor and Call are the queue and the content of the wake-up call that
	// led here, empty if none did.
	WokenFor, Call string
	// Chances is how many lost leases make a job a suspect, which runs alone among
	// its like; 0 for never. Suspect says that the process runs one.
	Chances int
	Suspect bool
}

// Reserved is what one call of reserve leased.
type Reserved struct {
	Jobs []Leased
	// Again says that entries were cleared away, and that asking again at once is
	// worth it.
	Again bool
	// Left says that something waits in a lane all the same: for more slots, or
	// for a process that handles its name.
	Left bool
}

// Leased is one job with the lease on it.
type Leased struct {
	Job   *job.Job
	Lease Lease
	// Err says that the body cannot be read: the job must be failed.
	Err error
}

// Lease is the right to one attempt at one job.
type Lease struct{ ID, Token string }

// Reserve leases up to limit waiting jobs, in the order of the offers and within
// each queue due jobs first.
func (s *Set) Reserve(ctx context.Context, a ReserveArgs) (Reserved, error) {
	reply, err := s.run(ctx, "reserve", a.args())
	if err != nil {
		return Reserved{}, err
	}
	return a.decode(reply), nil
}

func (a *ReserveArgs) args() []any {
	args := make([]any, 0, 8+2*len(a.Offers)+len(a.Names))
	suspect := ""
	if a.Suspect {
		suspect = "1"
	}
	args = append(args, a.Token, a.Lease.Milliseconds(), min(a.Limit, ReserveJobs), a.WokenFor, a.Call, a.Chances, suspect, len(a.Offers))
	for _, o := range a.Offers {
		args = append(args, o.Queue, o.Slots)
	}
	for _, name := range a.Names {
		args = append(args, name)
	}
	return args
}

func (a *ReserveArgs) decode(reply any) Reserved {
	r, _ := outline(reply)
	r.Jobs = a.decodeJobs(reply)
	return r
}

// outline is a reply without its jobs, and how many it has.
func outline(reply any) (Reserved, int) {
	list := toList(reply)
	status := toText(item(list, 1))
	return Reserved{Again: status == "again", Left: status != "idle"}, max(0, len(list)-2) / 3
}

func (a *ReserveArgs) decodeJobs(reply any) []Leased {
	list := toList(reply)
	if len(list) <= 2 {
		return nil
	}
	return decodeLeased(list[2:], a.Token, time.UnixMicro(toInt(list[0])).UTC(), a.Lease)
}

// Recover returns the jobs that a reserve with this token leased although its
// answer never came.
func (s *Set) Recover(ctx context.Context, token string, lease time.Duration) ([]Leased, error) {
	reply, err := s.run(ctx, "recover", []any{token})
	if err != nil {
		return nil, err
	}
	return decodeLeased(toList(reply), token, time.Time{}, lease), nil
}

func decodeLeased(list []any, token string, now time.Time, lease time.Duration) []Leased {
	leased := make([]Leased, 0, len(list)/3)
	worker, _, _ := strings.Cut(token, ":")
	for i := 0; i+2 < len(list); i += 3 {
		id := toText(list[i])
		j := &job.Job{State: job.Active, Started: now, Worker: worker}
		if !now.IsZero() {
			j.LeaseUntil = now.Add(lease)
		}
		err := decodeBody(id, toText(list[i+1]), j)
		j.ID = id
		if info := toText(list[i+2]); info != "" {
			attempts, rest, _ := strings.Cut(info, " ")
			lost, rest, _ := strings.Cut(rest, " ")
			due, previous, _ := strings.Cut(rest, " ")
			j.Attempts, _ = strconv.Atoi(attempts)
			j.Lost, _ = strconv.Atoi(lost)
			j.PreviousStatus = job.State(previous)
			if due != "" {
				j.Due = toTime(due)
			}
		}
		leased = append(leased, Leased{Job: j, Lease: Lease{ID: id, Token: token}, Err: err})
	}
	return leased
}
