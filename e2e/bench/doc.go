// Command bench measures Fanline as it is used: the built program, started as `fanline serve`, on a Postgres that syncs
// every commit and on a redis-server, both started for the run and removed after it.
//
//	go run ./e2e/bench [-run NAME,...] [-json] [-quick]
//
// Each figure stands beside a floor (the least that any program would have to do: the same statements by hand, a bare
// commit, a bare socket write) or a rival (another way to do it), measured in the same run, turn and turn about: one pair
// after the other, so that whatever else the machine does meets both. What counts is the ratio: the median of the pairs'
// ratios, with a 95 % interval from a bootstrap over the pairs. No test passes or fails on a time.
//
// main.go has the flags and the list; rig.go starts servers, databases and instances; stats.go is the arithmetic; each
// benchmark has a file of its own. It is one process with one owner: what a benchmark starts, it waits for.
//
// Beside the standard library, pgx, go-redis and coder/websocket it imports sim and store/embedded, and, for the figures
// taken "at the store's call", store and waitlist.
package main
