package schedulefile

import (
	"errors"
	"time"
)

// LoadZone returns the time zone of that name by the rules of the field timeZone,
// with the same words for a name that is none.
func LoadZone(name string) (*time.Location, error) {
	if isZone(name) {
		return time.LoadLocation(name)
	}
	message, hint := zoneProblem(name)
	return nil, errors.New(message + "; " + hint)
}
