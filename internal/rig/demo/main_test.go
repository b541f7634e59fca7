package demo

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// removeBinary removes the program that tests have built, if any did.
var removeBinary = func() {}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removeBinary()
		os.Exit(code)
	}))
}
