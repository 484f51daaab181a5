export { broadcast } from './broadcast.js';
export { broadcasts } from './broadcasts.js';
export { BroadcastFigures } from './broadcast-figures.js';
export { BroadcastsModule } from './broadcasts.module.js';
export { digestOfRecipients } from './audience.js';
export { Recipients } from './recipients.js';
export { readUnsubscribeToken, unsubscribeToken } from './unsubscribe-token.js';
export { CreateBroadcast } from './create-broadcast.js';
export { SendBroadcast } from './send-broadcast.js';
