# one static graph, built once and fed 50 times
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

a = tf.placeholder(tf.float32, shape=[], name="a")
b = tf.placeholder(tf.float32, shape=[], name="b")
c = tf.placeholder(tf.float32, shape=[], name="c")
d = tf.placeholder(tf.float32, shape=[], name="d")
e = tf.add(a * b, tf.log(d) * c, name="e")

before = len(tf.get_default_graph().get_operations())
total = 0.0
with tf.Session() as sess:
    for i in range(50):
        total += sess.run(e, feed_dict={a: i, b: 3.0, c: 5.0, d: 10.0})
after = len(tf.get_default_graph().get_operations())

print("operations before the runs:", before)
print("operations after 50 runs:", after)
print("mean of e:", round(total / 50, 4))
