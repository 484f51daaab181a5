export { nameOfUnsubscribePath } from './unsubscribe.controller.js';
export { UnsubscribeModule } from './unsubscribe.module.js';
