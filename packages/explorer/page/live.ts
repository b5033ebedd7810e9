export { watch } from '@viewset/client/live';
