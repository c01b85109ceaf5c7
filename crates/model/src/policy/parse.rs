//! Policies from text and back: `[NAME:]KEY=VALUE[,KEY=VALUE…]`.
