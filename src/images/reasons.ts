export const reasons = {
  CONFLICT: {
    IMAGE_SHOWN:
      'Petitions, posts or the organization use the image. error.issues lists them. Assign another image to them, or delete this one with detach, which removes it from them.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    images: typeof reasons;
  }
}
