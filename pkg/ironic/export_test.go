package ironic

// Bounds that tests come near to.
const (
	MaxKeyLen      = maxKeyLen
	MaxTextLen     = maxTextLen
	MaxErrorLen    = maxErrorLen
	MaxFaultLen    = maxFaultLen
	MaxSecretBytes = maxSecretBytes
	NodeBytes      = nodeBytes
)

// Bounds that are less while a test comes near to them.
var (
	MaxPageBytes  = &maxPageBytes
	MaxValueBytes = &maxValueBytes
	MaxLookBytes  = &maxLookBytes
)

// Size is what a Node takes.
func (n Node) Size() int64 { return n.size() }

// Held are the bytes of the lists that are being read.
func (c *Client) Held() int64 { return c.reading.Load() }
