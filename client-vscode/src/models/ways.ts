// The ways to a model that the panel offers.

export const WAYS = ["ollama", "key", "address", "editor", "without"] as const;
export type Way = (typeof WAYS)[number];
