package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// A controller asks in each reconcile, before it starts work. It makes the
// client once, when its process starts.
func ExampleClient_IsReady() {
	throttle := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"ready":false,"reason":"full","message":"no slot is free: 20 of 20 occupied","retryAfterSeconds":60}`)
	}))
	defer throttle.Close()
	client, err := api.NewClient(throttle.URL, api.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()

	reconcile := func(ctx context.Context) (requeueAfter time.Duration) {
		answer, err := client.IsReady(ctx, api.Ask{
			Namespace: "metal3", Name: "host-1", Op: api.OpProvision, BMHState: api.BMHProvisioning,
		})
		switch {
		case err != nil:
			// The decision is not known, so start nothing: a controller that goes on
			// without an answer breaks the limit.
			return 30 * time.Second
		case !answer.Ready:
			fmt.Println("delayed:", answer.Message)
			return time.Duration(answer.RetryAfterSeconds) * time.Second
		}
		// Start the work at once.
		return 0
	}
	fmt.Println("again in", reconcile(context.Background()))
	// Output:
	// delayed: no slot is free: 20 of 20 occupied
	// again in 1m0s
}
