// Package scheduler puts jobs into bide: Client for the jobs of an app, Scheduler
// for the ticks of recurring schedules. Both only write planned work into Redis;
// neither runs or promotes anything.
package scheduler
