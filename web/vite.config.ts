import { defineConfig } from 'vitest/config';

// The server that `npm run dev` passes API calls to; it is the default address of `flowfabric serve`.
const server = process.env.FLOWFABRIC_SERVER ?? 'http://127.0.0.1:7070';

export default defineConfig({
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  server: {
    proxy: {
      '/v1': {
        target: server,
        changeOrigin: true,
        // The server accepts pages of its own origin only.
        configure: (proxy) => proxy.on('proxyReq', (request) => request.setHeader('origin', server)),
      },
      '/openapi.json': { target: server, changeOrigin: true },
    },
  },
  build: {
    target: 'es2021',
    // The content security policy forbids inline content, data URLs of fonts and styles included.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    sourcemap: false,
    reportCompressedSize: false,
  },
  test: { include: ['test/**/*.test.ts'], environment: 'node' },
});
