export { reactionTo, type Subscription } from './subscription.js';
export { Subscriptions, type Failures, type SubscriptionStatus } from './subscriptions.js';
export { type Due, type Timer, TIMER_BACKLOG } from './timers.js';
