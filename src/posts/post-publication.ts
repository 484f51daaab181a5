import { timedChange } from '#libs/resources';
import { exists, post, publishOnTime } from './post.js';

/** Publishes each post at its `publishAt`. */
export const postPublication = timedChange({
  subscription: 'post-publications',
  timer: 'post-publication',
  decider: post,
  handles: ['PostCreated', 'PostUpdated', 'PostPublished', 'PostDeleted'],
  timeOf: (state) => (exists(state) ? state.publishAt : null),
  decide: publishOnTime,
});
