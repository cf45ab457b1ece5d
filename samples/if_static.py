# y = x * w if x is positive, else x - w: both branches are in the graph, and each run takes one of them
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

x = tf.placeholder(tf.float32, shape=[], name="x")
w = tf.placeholder(tf.float32, shape=[], name="w")
y = tf.cond(x > 0.0, lambda: x * w, lambda: x - w)
grads = tf.gradients(y, [x, w])

with tf.Session() as sess:
    for value in (2.0, -2.0):
        print(value, "->", *sess.run([y, *grads], feed_dict={x: value, w: 5.0}))
