package delivery

import (
	"os"
	"testing"

	"fanline/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
