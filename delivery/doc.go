// Package delivery brings items to fans: the hub of live sockets and the registry
// of which instance holds which fan's sockets.
package delivery
