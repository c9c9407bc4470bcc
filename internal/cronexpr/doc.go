// Package cronexpr reads schedule expressions and computes when they fire.
//
// # What may be written
//
//   - Five fields with spaces or tabs between them: minute, hour, day of month,
//     month, day of week. Six fields begin with the seconds; with five the second
//     is 0. Blanks and line ends around the whole are ignored.
//   - A field is a list of items separated by commas: * (every value), a (one
//     value), a-b (a range), each range or * with /n for every n-th value of it.
//     a/n is short for a-max/n. Ranges do not wrap around.
//   - Seconds and minutes 0-59, hours 0-23, days of the month 1-31, months 1-12 or
//     JAN-DEC, days of the week 0-7 or SUN-SAT in any case; 0 and 7 are both
//     Sunday, so a range may end in it (5-7, FRI-SUN), and a/n counts up to 7.
//     A single ? in one of the day fields means *.
//   - @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly stand
//     for five fields.
//   - @every D with a duration as package duration reads it: whole seconds, at
//     least one.
//
// Everything else is refused with an [Error] that says where and what to write
// instead: time zone prefixes, a year field, @reboot, the letters L W # H ~ of
// other programs, and dates that no calendar has, such as 30 February. The syntax
// is that of cronie's crontab(5), plus the seconds, a/n and @every of robfig/cron.
//
// # When it fires
//
// Days: if day of month or day of week begins with *, both have to match;
// otherwise one of them is enough. (This is cronie's reading: "*/2" begins with *.)
//
// Where a zone's clocks are moved, the rules are those of cronie's cron(8):
//
//   - An interval job, one with * or / in its minute or hour field, fires at every
//     real instant whose wall clock matches. Nothing is made up for skipped wall
//     times; repeated ones match in both passes.
//   - A fixed job, any other, whose wall time is skipped fires once at the first
//     instant after the gap, however many of its times were skipped and also if
//     that instant matches by itself. The skipped time's own date decides whether
//     the day matches. A wall time that is repeated counts the first time only.
//   - A move of three hours or more is a correction of the calendar (Samoa lost a
//     whole day in 2011) and not daylight saving: nothing is made up or held back.
//
// @every does not look at the wall clock: it fires at the whole multiples of its
// duration since the Unix epoch, so every process computes the same instants
// whenever it was started.
//
// # What can be said of it
//
// [Expression.Words] is when it fires in English, [Expression.Normalized] one text
// for all expressions that mean the same, [Expression.Intervals] the shortest and
// the longest time between two runs, [Expression.ClockChanges] what the coming clock
// changes of a zone do to it, and [Expression.Warnings] what its author may not have
// meant.
//
// The package reads no clock and keeps no state; its values may be shared between
// goroutines.
package cronexpr
