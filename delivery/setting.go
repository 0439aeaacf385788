package delivery

// SettingError is a field of a provider's configuration that is missing or wrong. It
// never holds the value.
type SettingError struct{ Field, What string }

func (e *SettingError) Error() string { return e.Field + " " + e.What }

// BadSetting is a *SettingError.
func BadSetting(field, what string) error { return &SettingError{Field: field, What: what} }
