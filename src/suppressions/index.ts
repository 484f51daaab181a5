export { AmazonSns } from './amazon-sns.js';
export { mailHookOf } from './mail-hook-token.js';
export { nameOfMailHook } from './mail-hook.controller.js';
export { type SuppressionRecord } from './suppression-record.js';
export { suppressionsProjection } from './suppressions.projection.js';
export { Suppressions } from './suppressions.js';
export { SuppressionsModule } from './suppressions.module.js';
