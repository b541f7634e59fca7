package child

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain plays the parent that is killed, for TestNobodyOutlivesUs.
func TestMain(m *testing.M) {
	if pipe := os.Getenv("CHILD_TEST_PIPE"); pipe != "" {
		death, err := strconv.Atoi(os.Getenv("CHILD_TEST_DEATH"))
		if err == nil {
			_, err = Start(Command{
				Name: "/bin/sh", Args: []string{"-c", os.Getenv("CHILD_TEST_LINE"), "sh", pipe},
				Env: []string{"PATH=/usr/bin:/bin"}, Death: syscall.Signal(death),
			})
		}
		if err != nil {
			os.Exit(1)
		}
		forever := make(chan os.Signal, 1)
		signal.Notify(forever, syscall.SIGUSR1)
		<-forever
	}
	goleak.VerifyTestMain(m)
}
