export const reasons = {
  CONFLICT: {
    POST_NOT_PUBLISHED: 'The post is a draft, so it cannot be archived. Publish it first, or delete it.',
    POST_PUBLISHED: 'The post is published already, so a time to publish it cannot be set.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    posts: typeof reasons;
  }
}
