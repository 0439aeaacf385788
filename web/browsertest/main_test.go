// Package browsertest holds the tests of what runs in browsers, web/client and
// web/demo, in a real one against the real server: HTTP, the hub of live sockets and
// the line on Postgres, in the test's process. house_test.go is the server,
// chrome_test.go what a browser of web/chrometest knows of its pages.
package browsertest

import (
	"os"
	"testing"

	"fanline/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
