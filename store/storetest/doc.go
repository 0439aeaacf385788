// Package storetest gives a test a Postgres database and a Redis of its own.
//
// Database and Postgres return the URL of a fresh database on a server that all tests of the process share, started by the
// first that asks; Database copies it from a template that has the migrations, which takes some 30 ms. Redis
// returns the URL of a redis-server that is the test's alone, MiniRedis of one inside the process. All of them go away with
// the test, whatever is still connected.
//
// A package that uses them runs its tests through Main, which stops the servers and looks for leaked goroutines:
//
//	func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
//
// Servers do not outlive the test process, even when it is killed; the files that such a process leaves behind are removed
// by a later one. The files are kept in memory where there is enough of it. A machine without Postgres or redis-server fails
// the test with the command that installs it.
//
// Every function may be called from parallel tests. The package imports the standard library, pgx, go-redis, goleak
// and store/embedded, and nothing else of Fanline, so that any package may use it.
package storetest
