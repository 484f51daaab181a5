/** What pages of other websites may do with a publishable key. */
export * from './request-signature.js';
export * from './submit-form.js';
