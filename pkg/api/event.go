package api

// Change is what GET /v1/events tells when the status is another one.
type Change struct {
	Headline string `json:"headline"`
	Slots    Slots  `json:"slots"` // of all hosts
}
