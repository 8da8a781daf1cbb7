package history

type resolution struct{}
