package hosts

// Read is a host as it is read from text.
func Read(text []byte) (Host, error) {
	var o object
	if err := o.UnmarshalJSON(text); err != nil {
		return Host{}, err
	}
	return *o.host, nil
}
