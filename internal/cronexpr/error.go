package cronexpr

import (
	"strconv"

	"github.com/bide-go/bide/internal/spelling"
)

// The codes that an [Error] carries.
const (
	CodeSyntax     = "E010" // a field or a descriptor cannot be read
	CodeFieldCount = "E011" // neither five nor six fields
	CodeNever      = "E012" // no calendar has such a day
	CodeZone       = "E013" // a time zone inside the expression
	CodeInterval   = "E015" // @every below a second, or with a fraction of one
)

// Error says why an expression was refused. Offset and Length mark the offending
// part in bytes of the text given to [Parse]; they always lie within it.
type Error struct {
	Code    string
	Offset  int
	Length  int
	Message string // such as `minute "61" is out of range 0-59`
	Hint    string // what to write instead; may be empty
}

// Error returns the message and, after a semicolon, the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// quote shows foreign text on one line and shortened.
func quote(text string) string { return strconv.Quote(spelling.Cut(text, 60)) }
