/** The operations of the service `post`, in the order of its documentation. */
export * from './create-post.js';
export * from './get-post.js';
export * from './list-posts.js';
export * from './update-post.js';
export * from './publish-post.js';
export * from './archive-post.js';
export * from './delete-post.js';
