export const reasons = {
  CONFLICT: {
    POST_NOT_PUBLISHED: 'The post is a draft, so it cannot be archived. Publish it first, or delete it.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    posts: typeof reasons;
  }
}
