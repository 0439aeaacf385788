// Package embedded runs the two servers Fanline stands on as part of the program: a private Postgres and a Redis, so that
// `fanline dev`, the tests and the benchmarks need nothing that somebody has to configure first.
//
// StartPostgres runs an ordinary Postgres server as a child process on a directory of its own, reachable by a unix socket
// that only the owner can open. StartRedis runs a Redis inside this process (miniredis), which is enough for `fanline dev`
// and for tests. StartRedisServer runs a real redis-server as a child, for whatever measures or depends on its behaviour.
//
// What it guarantees:
//
//   - One data directory has one user. A second process is refused, by a lock that the kernel drops when its holder dies.
//   - Stop returns once the server has ended, and may be called twice. Committed data survives Stop, Kill, a crash of this
//     process and a crash of the machine (Config.Fast gives the last one up).
//   - A child does not outlive this process, even after kill -9: on Linux the kernel signals it. Elsewhere the next
//     StartPostgres on the directory ends what was left running.
//   - Signals from the terminal do not reach the children, so Ctrl-C stops them in the order the program chose.
//   - A missing program is reported with the exact command that installs it.
//
// Every exported method may be called from any goroutine. One goroutine a running child waits for it; it ends with the
// child, so after Stop nothing is left behind.
//
// The package imports the standard library, pgx and miniredis, and nothing of Fanline.
package embedded
